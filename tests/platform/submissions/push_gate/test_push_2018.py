"""Pushes of repositories in the layout of 2018."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.errors import Refusal
from evaluation.legacy.environment import VARIABLE
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.submissions.push_gate.conftest import Copy

Send = Callable[..., str]

REPOSITORIES = Path(__file__).resolve().parents[3] / "repos" / "avc2018"


@pytest.fixture
def bring(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces the files of the working copy by a look-alike's, on a site with a legacy environment."""
    monkeypatch.setenv(VARIABLE, sys.prefix)

    def replace(name: str) -> None:
        (copy.folder / "submission.toml").unlink()
        source = REPOSITORIES / name
        files = [path for path in source.rglob("*") if path.is_file()]
        copy.write({path.relative_to(source).as_posix(): path.read_bytes() for path in files})

    return replace


def test_a_push_of_2018_becomes_a_submission_and_its_replacements_are_said(
    send: Send, copy: Copy, bring: Callable[[str], None]
) -> None:
    bring("template-model")
    answer = send("submission-1", copy.commit())
    submission = Submission.objects.get()
    assert (submission.title, submission.licence, submission.state) == ("template-model", "MIT", "received")
    assert "numpy==1.14.2 is replaced by numpy 1.26.4" in answer


def test_without_a_licence_file_it_is_accepted_as_unknown(send: Send, copy: Copy, bring: Callable[[str], None]) -> None:
    bring("logits-model")
    send("submission-1", copy.commit())
    assert Submission.objects.get().licence == "unknown"


def test_it_rejects_another_track(send: Send, copy: Copy, bring: Callable[[str], None]) -> None:
    bring("plain-attack")
    with pytest.raises(Refusal, match='is for the track "untargeted", but this repository is for the track "model"'):
        send("submission-1", copy.commit())


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("main.py", "import tensorflow", "imports 'tensorflow', which is neither in the repository nor in"),
        ("binder/requirements.txt", "numpy>=99", "line 1: 'numpy>=99' is newer than the legacy environment's numpy"),
        ("binder/requirements.txt", "tensorpack==0.8.9", "line 1: 'tensorpack==0.8.9' is not in the legacy"),
        ("binder/apt.txt", "libsm6", "line 1: the system package 'libsm6' is not part of the legacy environment"),
    ],
)
def test_it_rejects_what_cannot_run(
    send: Send, copy: Copy, bring: Callable[[str], None], name: str, content: str, problem: str
) -> None:
    bring("template-model")
    copy.write({name: content})
    with pytest.raises(Refusal, match=problem):
        send("submission-1", copy.commit())
    assert not Submission.objects.exists()


def test_it_rejects_it_on_a_site_without_a_legacy_environment(
    send: Send, copy: Copy, bring: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bring("template-model")
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(Refusal, match="needs the legacy environment, which this host does not have"):
        send("submission-1", copy.commit())
