"""Builders on a broken host: no attempt counts, and the submission is built when the host is back."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pytest_django import Settings

from core.errors import Fault
from core.models import Event
from evaluation.builder.base import LogLine
from evaluation.formats.query.catalogue import find_baseline
from evaluation.legacy.environment import IMAGE_VARIABLE, VARIABLE
from evaluation.sandbox.base import Resources
from formats.query.submissions import smoke_test
from submissions import pipeline
from submissions.models import QuotaSlot, Submission
from tests.platform.submissions.pipeline.test_build_2018 import FILES
from workers.models import Host

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]

Submit = Callable[..., Submission]
BuildWith = Callable[[Callable[[LogLine], None]], None]


def advanced(submission: Submission) -> Submission:
    pipeline.advance()
    submission.refresh_from_db()
    return submission


def attempts_of(submission: Submission) -> list[str]:
    return list(submission.builds.order_by("attempt").values_list("outcome", flat=True))


def host_events() -> list[str]:
    return list(Event.objects.filter(verb__endswith="_host").order_by("pk").values_list("verb", flat=True))


@pytest.mark.usefixtures("no_pauses")
def test_a_smoke_test_on_a_broken_host_costs_the_team_nothing(submit: Submit, sandbox_program: Any) -> None:
    submission = submit("model", find_baseline("numpy-classifier").repository())
    sandbox_program.remove()
    for _ in range(5):
        assert advanced(submission).state == Submission.State.RECEIVED
    assert attempts_of(submission) == ["host"]  # no further attempt
    assert host_events() == ["suspend_host"]

    sandbox_program.restore()
    assert advanced(submission).state == Submission.State.READY
    assert attempts_of(submission) == ["host", "ready"]
    assert host_events() == ["suspend_host", "resume_host"]


@pytest.mark.usefixtures("no_pauses")
def test_a_broken_legacy_environment_is_a_fault_of_the_host(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    submission = submit("model", find_baseline("numpy-classifier").repository())
    monkeypatch.setenv(VARIABLE, "/no/such/folder")
    for _ in range(5):
        assert advanced(submission).state == Submission.State.RECEIVED
    assert attempts_of(submission) == ["host"]
    monkeypatch.delenv(VARIABLE)
    assert advanced(submission).state == Submission.State.READY


@pytest.mark.usefixtures("no_pauses")
def test_a_host_without_the_legacy_environment_costs_a_team_of_2018_nothing(
    submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    submission = submit("untargeted", FILES)
    for _ in range(3):
        assert advanced(submission).state == Submission.State.RECEIVED
    assert set(attempts_of(submission)) == {"host"}
    assert QuotaSlot.objects.get().state == QuotaSlot.State.USED
    assert "gauntlet legacy-environment" in Host.objects.get().problem

    monkeypatch.setenv(VARIABLE, sys.prefix)
    assert advanced(submission).state == Submission.State.READY


@pytest.mark.docker
def test_a_host_without_the_legacy_image_costs_a_team_of_2018_nothing(
    submit: Submit, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SANDBOX = "docker"
    monkeypatch.setenv(VARIABLE, sys.prefix)
    monkeypatch.setenv(IMAGE_VARIABLE, "gauntlet-legacy:nowhere")
    submission = submit("untargeted", FILES)
    assert advanced(submission).state == Submission.State.RECEIVED
    assert attempts_of(submission) == ["host"]
    assert "make legacy-image" in Host.objects.get().problem


@pytest.mark.slow(20)
@pytest.mark.usefixtures("no_pauses")
def test_faults_of_a_broken_host_do_not_count_towards_the_limit(
    submit: Submit, sandbox_program: Any, build_with: BuildWith
) -> None:
    breaks = iter([False, True, True, False, False])

    def fail(on_log: LogLine) -> None:
        if next(breaks):
            sandbox_program.remove()
        raise Fault("a platform error")

    build_with(fail)
    submission = submit("model", {"main.py": ""})
    for _ in range(4):
        assert advanced(submission).state == Submission.State.RECEIVED
        sandbox_program.restore()
    assert attempts_of(submission) == ["fault", "host", "host", "fault"]
    assert advanced(submission).state == Submission.State.REJECTED
    assert (submission.cause, QuotaSlot.objects.get().state) == (Submission.Cause.PLATFORM, QuotaSlot.State.REFUNDED)


@pytest.mark.parametrize(
    "end",
    [
        "print('bwrap: out of order'); sys.exit(1)",
        "sys.exit(125)",
        "os.kill(os.getpid(), 9)",
        "open('/tmp/full', 'wb').write(bytes(1 << 26))",
    ],
    ids=["prints", "exits with 125", "kills itself", "fills its scratch space"],
)
def test_it_rejects_a_player_that_imitates_a_broken_host(
    submit: Submit, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smoke_test, "resources", lambda device: Resources(scratch_bytes=16 << 20))
    manifest = '[submission]\ntrack = "model"\nrun = "python main.py"\ntitle = "Scripted"\nlicence = "MIT"\n'
    files: Mapping[str, str] = {"submission.toml": manifest, "main.py": textwrap.dedent(f"import os, sys\n{end}\n")}
    submission = advanced(submit("model", files))
    assert (submission.state, submission.cause) == (Submission.State.REJECTED, Submission.Cause.TEAM)
    assert submission.reason == "check_failed"
    assert not Host.objects.exists()
