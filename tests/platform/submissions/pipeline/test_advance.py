"""From a commit to a player: build, checks, refusals, retries."""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from competitions.models import RulesVersion
from core.errors import Fault
from evaluation.builder.base import LogLine
from evaluation.domain.errors import SlowBuildRefusal
from evaluation.formats.query.catalogue import find_baseline
from evaluation.sandbox.state_directory import state_directory
from formats.query.matches import player_builds
from submissions import pipeline, smoke_test_pictures
from submissions.build_logs import LAST_LINES, MAX_LINES
from submissions.models import Build, LogChunk, Player, QuotaSlot, Submission
from submissions.player_builds import checkout_of
from submissions.selectors import log_lines, tracebacks_of, whole_log
from tests.platform.printed_command import rows_of, rows_of_the_printed_command
from tests.platform.submissions.pipeline.conftest import push_files

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]

Submit = Callable[..., Submission]
BuildWith = Callable[[Callable[[LogLine], None]], None]
Notifications = list[tuple[str, dict[str, int]]]

NOISE = """
    import numpy as np
    from gauntlet import serve_attack

    def attack(model, image, label, *, target, rng):
        print("attacking a", label, flush=True)
        for scale in range(300, 20, -10):
            model(image + rng.normal(0, scale, image.shape))

    serve_attack(attack)
"""


def scripted(track: str, source: str) -> dict[str, str]:
    """Return the files of a submission to a track whose program is `source`."""
    manifest = f'[submission]\ntrack = "{track}"\nrun = "python main.py"\ntitle = "Scripted"\nlicence = "MIT"\n'
    return {"submission.toml": manifest, "main.py": textwrap.dedent(source)}


def advanced(submission: Submission) -> Submission:
    pipeline.advance()
    submission.refresh_from_db()
    return submission


def log_of(build: Build) -> str:
    return "".join(whole_log(build))


def slot_of(submission: Submission) -> str:
    return QuotaSlot.objects.get(submission=submission).state


def test_a_submission_becomes_ready(submit: Submit, notifications: Notifications) -> None:
    submission = advanced(submit("model", find_baseline("numpy-classifier").repository()))

    assert submission.state == Submission.State.READY, submission.problem
    assert submission.deadline is None
    player = submission.player
    assert player is not None
    assert (player.track_name, player.title) == ("model", "Perceptron in numpy alone")
    assert player.digest.startswith("sha256:")
    build = submission.builds.get()
    assert build.outcome == "ready"
    assert build.checks_began_at is not None
    assert build.finished_at is not None
    assert build.started_at <= build.checks_began_at <= build.finished_at
    assert {check["name"]: check["passed"] for check in build.checks} == {
        "rules": True,
        "accuracy": True,
        "time": True,
        "stateless": True,
    }
    assert [sample.clean_label is not None for sample in smoke_test_pictures.kept(build)] == [True] * 6
    assert "nothing is installed" in log_of(build)
    assert notifications == [("leaderboards.evaluate", {"submission": submission.pk})]
    assert slot_of(submission) == QuotaSlot.State.USED
    assert player_builds.ready_player(player, print).digest == player.digest


def test_an_attack_plays_against_a_bundled_model_and_its_output_is_logged(submit: Submit) -> None:
    submission = advanced(submit("targeted", scripted("targeted", NOISE)))

    assert submission.state == Submission.State.READY, submission.problem
    lines = log_lines(submission.builds.get()).lines
    assert {line.stage for line in lines if "attacking a " in line.text} == {"smoke"}


def test_the_printed_command_plays_the_same_smoke_test(
    submit: Submit, live_server: Any, settings: Settings, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings.SITE_ADDRESS = live_server.url
    RulesVersion.objects.update(values={"query_budget": 21, "piece_samples": 4})
    attack = advanced(submit("untargeted", scripted("untargeted", NOISE)))
    build = attack.builds.get()
    assert ("budget", True, "at most 21 queries for one sample, the budget is 21") in rows_of(build)
    assert rows_of_the_printed_command(build, tmp_path / "work-1", capfd) == rows_of(build)


def test_output_of_a_player_is_readable_while_it_is_checked(submit: Submit) -> None:
    patient = "import time\nprint('loading weights', flush=True)\ntime.sleep(3)\n" + textwrap.dedent(NOISE)
    submission = submit("untargeted", scripted("untargeted", patient))
    states: list[str] = []
    checked = threading.Event()

    def watch() -> None:
        while not LogChunk.objects.filter(text__contains="loading weights").exists() and not checked.wait(0.05):
            pass
        states.append(Submission.objects.get(pk=submission.pk).state)
        connection.close()

    reader = threading.Thread(target=watch)
    reader.start()
    advanced(submission)
    checked.set()
    reader.join()

    assert states == [Submission.State.CHECKING]


def test_equal_content_is_the_same_player(submit: Submit) -> None:
    baseline = find_baseline("numpy-classifier").repository()
    first = advanced(submit("model", baseline))
    row = player_builds.baseline_player(first.repository.track, "numpy-classifier", print)
    second = advanced(submit("model", baseline))

    assert first.player == row == second.player
    assert Player.objects.count() == 1


@pytest.mark.parametrize("first", ["team", "site"])
def test_a_copy_of_a_baseline_is_the_baseline_whichever_is_built_first(submit: Submit, first: str) -> None:
    """Otherwise its owner and its seeds, and with them the scores of others, would depend on which build was faster."""
    submission = submit("model", find_baseline("numpy-classifier").repository())
    track = submission.repository.track
    track.baselines = ["numpy-classifier"]
    track.save()
    if first == "site":
        player_builds.baseline_player(track, "numpy-classifier", print)
    player = advanced(submission).player
    assert player == player_builds.baseline_player(track, "numpy-classifier", print)
    assert player is not None
    assert player.baseline == "numpy-classifier"


@pytest.mark.parametrize("kind", ["directory", "nested", "file", "link"])
def test_committed_bytecode_is_not_part_of_a_player(submit: Submit, tmp_path: Path, kind: str) -> None:
    """Python runs it in place of the source, and the digest leaves it out: other code would pass for the baseline."""
    submission = submit("model", find_baseline("plain-resnet").repository())
    work = tmp_path / "work-1"
    cache = work / "code" / "__pycache__" if kind == "nested" else work / "__pycache__"
    if kind == "link":
        cache.symlink_to("main.py")
    elif kind == "file":
        cache.write_text("a file")
    else:
        cache.mkdir(parents=True)
        (cache / "network.cpython-311.pyc").write_bytes(b"other code")
    submission.commit = push_files(work, submission.repository.path, "submission-2")
    submission.save()
    checkout = checkout_of(submission.repository, submission.commit)
    assert (checkout / "network.py").is_file()
    assert not list(checkout.rglob("__pycache__"))


def test_a_submission_that_is_named_as_a_baseline_later_is_one(submit: Submit) -> None:
    player = advanced(submit("model", find_baseline("numpy-classifier").repository())).player
    assert player is not None
    assert player.baseline == ""
    player_builds.baseline_player(player.competition.tracks.get(name=player.track_name), "numpy-classifier", print)
    player.refresh_from_db()
    assert player.baseline == "numpy-classifier"


def test_a_modified_checkout_is_checked_out_again(submit: Submit) -> None:
    player = advanced(submit("model", find_baseline("numpy-classifier").repository())).player
    assert player is not None
    directory = player_builds.ready_player(player, print).directory
    assert directory is not None
    (directory / "main.py").write_text("something else")

    assert player_builds.ready_player(player, print).digest == player.digest
    assert "serve_model" in (directory / "main.py").read_text()


def test_it_rejects_to_start_a_player_with_another_digest(submit: Submit) -> None:
    player = advanced(submit("model", find_baseline("numpy-classifier").repository())).player
    assert player is not None
    player.digest = "sha256:of-another-base-image"

    with pytest.raises(Fault, match="was rebuilt with digest sha256:"):
        player_builds.ready_player(player, print)


@pytest.mark.parametrize(
    ("files", "reason", "problem"),
    [
        ({"main.py": ""}, "manifest", "submission.toml"),
        (scripted("untargeted", ""), "manifest", 'track is "untargeted"'),
        (scripted("model", "") | {"apt.txt": "sl"}, "build_failed", "apt.txt"),
        (
            scripted("model", "from gauntlet import serve_model\nserve_model(lambda images: [9] * len(images))"),
            "check_failed",
            "clean images labelled right",
        ),
        (scripted("model", "import sys\nprint('no weights')\nsys.exit(3)"), "check_failed", "exit status 3"),
    ],
    ids=["no manifest", "another track", "build", "wrong labels", "crash"],
)
def test_it_rejects_user_errors(submit: Submit, files: dict[str, str], reason: str, problem: str) -> None:
    submission = advanced(submit("model", files))

    assert (submission.state, submission.cause) == (Submission.State.REJECTED, Submission.Cause.TEAM)
    assert submission.reason == reason
    assert problem in submission.problem
    assert submission.fix
    assert submission.builds.get().outcome == reason
    assert slot_of(submission) == QuotaSlot.State.REFUNDED


def test_it_rejects_a_commit_that_was_accepted_under_wider_limits(submit: Submit, settings: Settings) -> None:
    submitted = submit("model", scripted("model", ""))
    settings.MAX_CHECKOUT_BYTES = 10
    submission = advanced(submitted)
    assert (submission.state, submission.cause) == (Submission.State.REJECTED, Submission.Cause.TEAM)
    assert "in total when checked out" in submission.problem
    assert not list(settings.CHECKOUTS.glob("*"))


def test_it_rejects_an_attack_that_crashes_immediately(submit: Submit) -> None:
    submission = advanced(submit("untargeted", scripted("untargeted", "raise RuntimeError('no idea')")))

    assert (submission.cause, submission.reason) == (Submission.Cause.TEAM, "check_failed")
    build = submission.builds.get()
    stands = {check["name"]: check["passed"] for check in build.checks}
    assert stands == {"rules": False, "success": None, "budget": None}
    assert "RuntimeError: no idea" in log_of(build)


BROKEN = """
    from gauntlet import serve_model

    def predict(images):
        return len(images) / 0

    serve_model(predict)
"""


def test_a_crash_is_reported_by_its_exception_with_one_fix_and_no_host_path(submit: Submit, settings: Settings) -> None:
    submission = advanced(submit("model", scripted("model", BROKEN)))

    assert submission.problem == "ZeroDivisionError: division by zero (main.py, line 5)"
    assert submission.fix.splitlines() == [
        "correct `main.py` at line 5",
        "test the fixed version on your own machine first: "
        "`gauntlet check --competition http://localhost/competitions/digits .`",
    ]
    build = submission.builds.get()
    assert [check["passed"] for check in build.checks] == [False, None, None, None]
    log = log_of(build)
    assert 'File "main.py", line 5, in predict' in log
    shown = log + submission.problem + submission.fix + str(build.checks)
    for hidden in (settings.CHECKOUTS, sys.prefix, state_directory("sdk")):
        assert str(hidden) not in shown


def test_it_rejects_a_build_that_exceeds_its_time_limit(submit: Submit, build_with: BuildWith) -> None:
    def slow(on_log: LogLine) -> None:
        raise SlowBuildRefusal("the build took longer than 1,800 s", fix="install less")

    build_with(slow)

    assert advanced(submit("model", scripted("model", ""))).reason == "build_too_slow"


def test_a_log_of_100_megabytes_is_cut_in_the_middle(submit: Submit, build_with: BuildWith) -> None:
    def talk(on_log: LogLine) -> None:
        for number in range(1_000_000):
            on_log(f"{number:>100}")
        raise SlowBuildRefusal("enough", fix="say less")

    build_with(talk)
    build = advanced(submit("model", scripted("model", ""))).builds.get()

    lines = [line.text.strip() for line in log_lines(build, limit=10 * MAX_LINES).lines]
    assert len(lines) == MAX_LINES + 1 + LAST_LINES
    assert (lines[0], lines[MAX_LINES - 1]) == ("0", str(MAX_LINES - 1))
    assert "lines are omitted" in lines[MAX_LINES]
    assert lines[-2:] == ["999999", "rejected: enough"]


@pytest.mark.usefixtures("no_pauses")
def test_a_builder_without_a_gpu_is_a_platform_error(submit: Submit) -> None:
    files = scripted("model", "raise SystemExit('no device')")
    files["submission.toml"] += "gpu = true\n"
    submission = submit("model", files)
    for _ in range(3):
        advanced(submission)
    assert (submission.state, submission.cause, submission.reason) == ("rejected", "platform", "fault")
    assert slot_of(submission) == "refunded"
    traces = tracebacks_of(submission)
    assert list(traces) == [1, 2, 3]
    assert all(trace.startswith("Traceback (most recent call last):") for trace in traces.values())
