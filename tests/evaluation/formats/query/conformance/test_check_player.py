"""Players that keep the protocol pass every check; each broken one fails the check that its fault belongs to."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from evaluation.domain.images import ImageShape
from evaluation.formats.query.conformance import Check, check_player
from evaluation.formats.query.rules import QueryRules

RULES = QueryRules(shape=ImageShape(8, 8, 3), classes=10)

SDK_MODEL = """
from gauntlet import serve_model
serve_model(lambda images: images.reshape(len(images), -1).mean(axis=1).astype(int) // 26)
"""
SDK_ATTACK = """
from gauntlet import serve_attack
def attack(model, image, label, *, target, rng):
    while True:
        model(image + rng.normal(0, 50, image.shape))
serve_attack(attack)
"""
SDK_ATTACK_RAISING = """
from gauntlet import serve_attack
def attack(model, image, label, *, target, rng):
    raise ZeroDivisionError
serve_attack(attack)
"""


SDK_SCORES = """
import numpy
from gauntlet import serve_model

def scores(images):
    return -abs(images.mean((1, 2, 3))[:, None] - 26 * numpy.arange(10.0))

def predict(images):
    return scores(images).argmax(axis=1)

"""
OFFERED = "serve_model(predict, scores=scores, gradients=lambda images, weights: images * weights.sum())"
OTHER_SCORES = "serve_model(predict, scores=lambda images: -scores(images))"


@pytest.fixture(scope="session")
def players(root: Path) -> Path:
    return root / "tests" / "repos" / "protocol"


def faults(checks: list[Check]) -> list[str]:
    return [check.name for check in checks if not check.passed]


@pytest.mark.parametrize("kind", ["model", "attack"])
def test_players_without_the_sdk_pass_every_check(players: Path, kind: str) -> None:
    """With players in Perl, without the SDK: the examples of docs/protocol.md."""
    checks = check_player(["perl", str(players / f"perl-{kind}" / f"{kind}.pl")])
    assert faults(checks) == []
    assert len(checks) >= 11
    assert len({check.name for check in checks}) == len(checks)
    assert all(check.seen for check in checks)
    assert f"({kind})" in checks[0].seen


@pytest.mark.parametrize("code", [SDK_MODEL, SDK_ATTACK, SDK_ATTACK_RAISING], ids=["model", "attack", "raising attack"])
def test_players_of_the_sdk_pass(code: str) -> None:
    checks = check_player([sys.executable, "-c", code], rules=RULES)
    assert faults(checks) == []


def test_an_invalid_label_is_not_the_same_label_again() -> None:
    code = "import numpy; from gauntlet import serve_model; serve_model(lambda images: -numpy.ones(len(images), int))"
    checks = check_player([sys.executable, "-c", code], rules=RULES)
    assert faults(checks) == [
        "labels in range", "same label when queried again", "same label alone", "same label in other batches",
    ]  # fmt: skip


@pytest.mark.parametrize(("served", "failed"), [(OFFERED, []), (OTHER_SCORES, ["answers scores"])])
def test_what_a_model_offers_is_asked_for(served: str, failed: list[str]) -> None:
    checks = check_player([sys.executable, "-c", SDK_SCORES + served], rules=RULES)
    assert faults(checks)[:1] == failed
    assert {"answers scores", "answers gradients"} & {check.name for check in checks}


def test_it_says_that_an_attack_raised() -> None:
    checks = check_player([sys.executable, "-c", SDK_ATTACK_RAISING], rules=RULES)
    assert "exceptions on 10 samples" in {check.name: check.seen for check in checks}["plays a piece of 10 samples"]


@pytest.mark.parametrize("kind", ["model", "attack"])
def test_players_of_the_table_below_pass_when_nothing_is_wrong(players: Path, kind: str) -> None:
    assert faults(check_player([sys.executable, str(players / "broken" / f"{kind}.py"), "none"], rules=RULES)) == []


@pytest.mark.parametrize("behaviour", ["minds the budget", "sends every query twice"])
def test_what_an_attack_may_do(players: Path, behaviour: str) -> None:
    checks = check_player([sys.executable, str(players / "broken" / "attack.py"), behaviour], rules=RULES)
    assert faults(checks) == []


BROKEN_MODELS = [
    ("exits at once", "HELLO", "exited_in_setup"),
    ("exits at once", "HELLO", "exit status 3: no weights found"),
    ("never connects", "HELLO", "never_connected"),
    ("wrong magic", "HELLO", "b'HTTP'"),
    ("wrong version", "HELLO", "version 9"),
    ("wrong role", "HELLO", "role 7"),
    ("wrong first frame", "HELLO", "bad_type"),
    ("speaks before WELCOME", "silent before WELCOME", "unexpected_bytes"),
    ("labels of four bytes", "answers 1 image", "bad_length"),
    ("one byte too many", "answers 1 image", "bad_length"),
    ("says 4 GiB", "answers 1 image", "4294967295"),
    ("stops within a frame", "answers 1 image", "disconnected"),
    ("wrong type", "answers 1 image", "bad_type"),
    ("one image at a time", "answers 10 images", "1 answers for 10 images"),
    ("hangs at the second frame", "answers 10 images", "too_slow"),
    ("crashes at the second frame", "answers 10 images", "RuntimeError: out of ideas"),
    ("label out of range", "labels in range", "the classes are 0 to 9"),
    ("counts its calls", "same label when queried again", "one image had label"),
    ("looks at the batch size", "same label alone", "one image had label"),
    ("looks at the batch", "same label in other batches", "one image had label"),
    ("speaks unasked", "silent without a query", "unexpected_bytes"),
    ("own sequence numbers", "any sequence numbers", "sequence 1, expected 5"),
    ("stays after BYE", "ends after BYE", "still running"),
    ("stays when the connection closes", "ends when the connection closes", "still running"),
]

BROKEN_ATTACKS = [
    ("starts at sequence 6", "plays a piece of 1 sample", "sequence 6, expected 1"),
    ("sequence in steps of 2", "plays a piece of 1 sample", "sequence 2, expected 1"),
    ("asks about another sample", "plays a piece of 1 sample", "unknown_sample"),
    ("finishes an unknown sample", "plays a piece of 1 sample", "unknown_sample"),
    ("image of the wrong size", "plays a piece of 1 sample", "bad_length"),
    ("too many images", "plays a piece of 1 sample", "count 65"),
    ("never finishes", "plays a piece of 1 sample", "too_slow"),
    ("only plays one sample", "plays a piece of 10 samples", "I take one sample"),
    ("plays one piece only", "plays a piece of 10 samples", "disconnected"),
    ("restarts the sequence", "plays a piece of 10 samples", "bad_sequence"),
    ("dies of a missing label", "handles images without a label", "KeyError: -1"),
    ("speaks after FINISH", "silent between pieces", "unexpected_bytes"),
    ("stays after BYE", "ends after BYE", "still running"),
    ("dies of a spent budget", "plays a targeted piece", "KeyError: -2"),
    ("asks for ever", "plays a targeted piece", "1001 queries beyond the budget"),
]


@pytest.mark.parametrize(
    ("script", "behaviour", "check", "seen"),
    [("model.py", *row) for row in BROKEN_MODELS] + [("attack.py", *row) for row in BROKEN_ATTACKS],
)
def test_it_rejects_a_player_that(
    players: Path, monkeypatch: pytest.MonkeyPatch, script: str, behaviour: str, check: str, seen: str
) -> None:
    if behaviour.startswith("stays"):
        monkeypatch.setattr("evaluation.formats.query.conformance.launcher.ENDING_SECONDS", 0.5)
    if behaviour.startswith("speaks"):
        monkeypatch.setattr("evaluation.formats.query.conformance.launcher.QUIET_SECONDS", 2.0)
    slow = behaviour in ("never connects", "hangs at the second frame", "never finishes")
    command = [sys.executable, str(players / "broken" / script), behaviour]
    checks = check_player(command, seconds=3.0 if slow else 20.0, rules=RULES)
    failed = [c for c in checks if not c.passed]
    assert failed[0].name == check
    assert seen in failed[0].seen


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        (["./no-such-program"], "cannot be started"),
        ([], "cannot be started"),
        (["perl\0"], "cannot be started"),
        (["/"], "cannot be started"),
    ],
)
def test_it_rejects_a_command_that_does_not_start(command: list[str], seen: str) -> None:
    (check,) = check_player(command, rules=RULES)
    assert not check.passed
    assert seen in check.seen


def test_it_names_the_checks_that_were_not_reached(players: Path) -> None:
    command = [sys.executable, str(players / "broken" / "model.py"), "one image at a time"]
    seen = {check.name: check.seen for check in check_player(command, rules=RULES)}
    assert seen["labels in range"] == seen["ends after BYE"] == "not reached"
    assert seen["any sequence numbers"].startswith("echoed")


def test_it_leaves_no_files_and_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket is short, which pytest's own folders are not
        monkeypatch.setattr("tempfile.tempdir", folder)
        check_player(["sh", "-c", f"echo $$ > {folder}/pid; sleep 600"], seconds=1.0, rules=RULES)
        pid = int((Path(folder) / "pid").read_text())
        assert not Path(f"/proc/{pid}").exists()
        assert [path.name for path in Path(folder).iterdir()] == ["pid"]
