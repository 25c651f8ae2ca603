"""Both phases of the transfer format: what submissions see, what counts, and who bears which failure."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.results import BatchReason, ImageNote, PairCounts
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.match_result_files import write_files
from evaluation.formats.transfer.runner.play_match import TransferMatch, play
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.base import Resources
from evaluation.sandbox.process_sandbox import ProcessSandbox

Make = Callable[..., TransferPlayer]
Played = Callable[..., TransferResult]

NOOP = 'cp "$1"/*.png "$2"'
ONE = 'for image in "$1"/*.png; do echo "$(basename $image),1"; done >"$2"'
"""A defence that gives every image label 1."""


@pytest.mark.parametrize("sandbox", [None, False], ids=["as this host can", "without bubblewrap"], indirect=True)
def test_both_phases_are_counted_for_every_pair_epsilon_and_image(
    submission: Make, played: Played, samples: list[Sample], tmp_path: Path
) -> None:
    result = played(
        [submission(NOOP, name="noop"), submission(NOOP, "targeted_attack", "targeted")],
        [submission(ONE, "defense", "one")],
    )
    assert result.pairs() == [
        PairCounts("noop", "one", False, 5, 5, 5, 1),
        PairCounts("targeted", "one", True, 5, 5, 5, 1, 0),
    ]
    assert result.pairs(16) == [
        PairCounts("noop", "one", False, 2, 2, 2, 0),
        PairCounts("targeted", "one", True, 2, 2, 2, 0, 0),
    ]
    write_files(result, tmp_path)
    rows = csv.DictReader((tmp_path / "all_classification.csv").read_text().splitlines())
    labels = [(row["ImageId"], row["TrueLabel"]) for row in rows if row["AttackName"] == "noop"]
    assert labels == [(sample.image_id, str(sample.label + 1)) for sample in samples]
    assert np.array_equal(result.made[0].images, np.stack([sample.image for sample in samples[:3]]))
    assert not [batch.run for batch in result.made if batch.run.reason]
    assert not [batch.run for batch in result.labelled if batch.run.reason]
    assert {name: len(times) for name, times in result.seconds().items()} == {"noop": 2, "targeted": 2, "one": 4}


def test_an_entry_point_without_its_executable_bit_is_started_and_the_log_says_so(
    repository: Callable[..., Path], played: Played
) -> None:
    source, lines = repository(NOOP), list[str]()
    (source / "run.sh").chmod(0o644)
    result = played([build_player(source, sandbox="process", on_log=lines.append)], [])
    assert [batch.run.reason for batch in result.made] == [None, None]
    assert lines[0] == "run.sh is not executable in git, and is made so for each run"
    assert not os.access(source / "run.sh", os.X_OK)


def test_an_attack_gets_images_epsilon_and_targets_only_if_it_is_targeted(submission: Make, played: Played) -> None:
    script = 'echo "$3" $(ls "$1") "$(cat "$1"/target_class.csv 2>/dev/null)" >&2; test "$3" != 16'
    result = played([submission(f"{script} || exit 7", name="a"), submission(script, "targeted_attack", "t")], [])
    assert [(batch.attack, batch.run.detail) for batch in result.made] == [
        ("a", ""),
        ("a", "exit status 7"),
        ("t", ""),
        ("t", "exit status 1"),
    ]


@pytest.mark.parametrize("sandbox", [None, False], ids=["as this host can", "without bubblewrap"], indirect=True)
def test_code_is_a_fresh_writable_copy_in_each_run(submission: Make, played: Played) -> None:
    script = f"test ! -e left && touch left && {NOOP} && mkdir -p below && mv run.sh below"
    attack = submission(script)
    result = played([attack], [])
    assert [batch.run.reason for batch in result.made] == [None, None]
    assert sorted(path.name for path in attack.source.iterdir()) == ["metadata.json", "run.sh"]


def test_a_defence_gets_other_names_and_nothing_of_the_attack(submission: Make, played: Played) -> None:
    spy = submission('ls "$1" >"$2"; grep -ql IMG "$2" && exit 3; test "$(grep -c png "$2")" -ge 2', "defense", "spy")
    result = played([submission(NOOP)], [spy])
    assert [batch.run.reason for batch in result.labelled] == [None, None]


def test_a_batch_is_never_played_twice(submission: Make, played: Played, samples: list[Sample], tmp_path: Path) -> None:
    random = submission('for f in "$1"/*.png; do head -c 100 /dev/urandom >/dev/null; cp $f "$2"; done; date +%N >&2')
    first = played([random], [submission(ONE, "defense", "one")])
    again = played([random], [submission(ONE, "defense", "other name")])
    assert [batch.run.seconds for batch in again.made] == [batch.run.seconds for batch in first.made]
    assert [batch.run.seconds for batch in again.labelled] == [batch.run.seconds for batch in first.labelled]
    assert again.labelled[0].defence == "other name"


def test_it_rejects_stored_images_that_were_changed(submission: Make, played: Played, tmp_path: Path) -> None:
    attack = submission(NOOP)
    played([attack], [])
    stored = sorted((tmp_path / "out" / "attacks").glob("*/IMG000000.png"))
    stored[0].write_bytes((stored[0].parent / "IMG000001.png").read_bytes())
    with pytest.raises(Fault, match="not the image that was stored"):
        played([attack], [])


def test_workers_play_at_the_same_time(submission: Make, played: Played) -> None:
    result = played(
        [submission(NOOP, name=name) for name in "ab"], [submission(ONE, "defense", name) for name in "xy"], workers=3
    )
    assert [(pair.attack, pair.defence, pair.correct) for pair in result.pairs()] == [
        (attack, defence, 1) for attack in "ab" for defence in "xy"
    ]


def test_what_was_written_before_the_time_limit_counts(submission: Make, played: Played, rules: TransferRules) -> None:
    slow = submission('set -- "$1" "$2"; for f in "$1"/*0.png "$1"/*3.png; do cp $f "$2"; done 2>&1; sleep 600')
    # the limit of the defence, too, which a busy host may start slowly
    result = played([slow], [submission(ONE, "defense", "one")], replace(rules, batch_seconds=5.0))
    assert [(batch.run.reason, batch.made.tolist()) for batch in result.made] == [
        (BatchReason.TOO_SLOW, [True, False, False]),
        (BatchReason.TOO_SLOW, [True, False]),
    ]
    assert result.pairs() == [PairCounts("any", "one", False, 5, 2, 2, 1)]


def test_nothing_about_its_files_tells_a_defence_the_order_of_the_samples(submission: Make, played: Played) -> None:
    by_change_time = 'cd "$1"; test "$(ls -1tcr)" = "$(ls -1)" && test $(stat -c %Y * | sort -u | wc -l) = 1 || exit 7'
    result = played([submission(NOOP, name="noop")], [submission(by_change_time, "defense", "one")])
    assert [batch.run.reason for batch in result.labelled] == [BatchReason.NO_RESULT] * 2, "it did not exit with 7"


BAD_ATTACKS = {
    "nothing": ("true", 0, None),
    "some": (f'{NOOP}; rm -f "$2"/*1.png "$2"/*3.png', 3, None),
    "other-names": (f'{NOOP}; cd "$2"; for f in *; do mv $f x$f; done', 0, None),
    "killed": (f"{NOOP}; kill -9 $$", 5, BatchReason.CRASHED),
    "exit": (f"{NOOP}; exit 3", 5, BatchReason.CRASHED),
    "unknown-program": ("no-such-program", 0, BatchReason.CRASHED),
    "bytes": (f'{NOOP}; head -c 30000000 /dev/zero >"$2"/a; true', 0, BatchReason.TOO_MUCH_OUTPUT),
    "files": (
        f'{NOOP}; cd "$2"; i=0; while [ $i -lt 1100 ]; do : >f$i; i=$((i+1)); done',
        0,
        BatchReason.TOO_MUCH_OUTPUT,
    ),
    "deep": (
        f'{NOOP}; cd "$2"; n=$(printf %250s | tr " " d); for i in $(seq 20); do mkdir $n; cd -P $n; done; '
        "head -c 30000000 /dev/zero >a",
        0,
        BatchReason.TOO_MUCH_OUTPUT,
    ),
    "link": ('ln -s "$1"/IMG000000.png "$2"/IMG000000.png', 0, None),
}
"""What an attack does, how many of five images are made all the same, and how its batches fail."""


def test_a_bad_attack_harms_only_itself(submission: Make, played: Played) -> None:
    attacks = [submission(script, name=name) for name, (script, _, _) in BAD_ATTACKS.items()]
    result = played([*attacks, submission(NOOP, name="good")], [submission(ONE, "defense", "one")])
    *bad, good = result.pairs()
    assert good == PairCounts("good", "one", False, 5, 5, 5, 1)
    assert [(pair.attack, pair.made, pair.labelled) for pair in bad] == [
        (name, made, made) for name, (_, made, _) in BAD_ATTACKS.items()
    ]
    for name, (_, made, reason) in BAD_ATTACKS.items():
        batches = [batch for batch in result.made if batch.attack == name]
        assert (name, {batch.run.reason for batch in batches}) == (name, {reason})
        assert (name, sum(batch.count(ImageNote.MISSING) for batch in batches)) == (name, 5 - made)


BAD_DEFENCES = {
    "nothing": ("true", 0, BatchReason.NO_RESULT),
    "10001-bytes": (f'{ONE}; head -c 10001 /dev/zero >>"$2"', 0, BatchReason.RESULT_TOO_LARGE),
    "bytes": (f'{ONE}; printf "\\377" >>"$2"', 0, BatchReason.UNREADABLE_RESULT),
    "exit": (f"{ONE}; exit 4", 5, BatchReason.CRASHED),
    "link": ('ln -s /etc/hostname "$2"', 0, BatchReason.NO_RESULT),
    "pipe": ('mkfifo "$2"', 0, BatchReason.NO_RESULT),
    "label-0": (
        'for image in "$1"/*.png; do echo "$(basename $image),0"; echo "$image,1"; done >"$2"',
        5,
        None,
    ),
}
"""What a defence does, how many of five images it labels all the same, and how its batches fail."""


def test_a_bad_defence_harms_only_itself(submission: Make, played: Played) -> None:
    defences = [submission(script, "defense", name) for name, (script, _, _) in BAD_DEFENCES.items()]
    result = played([submission(NOOP)], [*defences, submission(ONE, "defense", "good")])
    *bad, good = result.pairs()
    assert good == PairCounts("any", "good", False, 5, 5, 5, 1)
    assert [(pair.defence, pair.labelled) for pair in bad] == [
        (name, labelled) for name, (_, labelled, _) in BAD_DEFENCES.items()
    ]
    for name, (_, _, reason) in BAD_DEFENCES.items():
        seen = {batch.run.reason for batch in result.labelled if batch.defence == name}
        assert (name, seen) == (name, {reason})


def test_an_interruption_ends_every_run(
    sandbox: ProcessSandbox, submission: Make, samples: list[Sample], rules: TransferRules, tmp_path: Path
) -> None:
    def interrupt(batch: object) -> None:
        raise KeyboardInterrupt

    attacks = [submission(NOOP, name="quick"), submission("sleep 86397", name="slow")]
    match = TransferMatch(rules, attacks, [], samples[:3], seed=0, workers=2)
    with pytest.raises(KeyboardInterrupt):
        play(
            match,
            sandbox=sandbox,
            directory=tmp_path / "out",
            resources=Resources(),
            on_batch=interrupt,
            on_log=lambda player, log: None,
        )
    assert sandbox.sweep() == 0
    assert not any(map(runs_long, Path("/proc").glob("[0-9]*/cmdline")))


def runs_long(process: Path) -> bool:
    """Return True if a process is the one of the slow attack."""
    try:
        return process.read_bytes() == b"sleep\x0086397\x00"
    except OSError:  # it ended meanwhile
        return False
