"""Submitting a stored commit without a push."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from core.errors import Refusal, RefusedForNow
from repositories.models import PushCost
from repositories.push_budget import PushBudgetRefusal
from submissions.models import QuotaSlot, Submission
from submissions.services import submit

if TYPE_CHECKING:
    from tests.platform.submissions.push_gate.conftest import Copy


def test_a_commit_is_submitted_by_its_short_hash_and_gets_the_next_tag(copy: Copy, bob: User) -> None:
    commits = [copy.commit(), copy.commit()]
    for number, commit in enumerate(commits, 1):
        submission = submit(repository=copy.repository, commit=commit[:12], by=bob)
        assert (submission.commit, submission.tag) == (commit, f"submission-web-{number}")
        assert submission.quota_slot.state == "used"
        assert copy.git("ls-remote", str(copy.repository.path), submission.tag).startswith(commit)


def test_it_skips_existing_tag_names(copy: Copy, alice: User) -> None:
    commit = copy.commit()
    copy.land(commit, "submission-web-7")
    assert submit(repository=copy.repository, commit=commit, by=alice).tag == "submission-web-8"


@pytest.mark.parametrize("commit", ["", "HEAD", "main", "--help", "0" * 40, "a" * 7, "refs/heads/main"])
def test_it_rejects_names_without_a_commit(copy: Copy, alice: User, commit: str) -> None:
    copy.commit()
    with pytest.raises(Refusal, match="has no commit"):
        submit(repository=copy.repository, commit=commit, by=alice)


def test_it_rejects_what_the_push_gate_rejects(
    copy: Copy, alice: User, charlie: User, take_slots: Callable[[int], None]
) -> None:
    commit = copy.commit()
    with pytest.raises(Refusal, match="not a member"):
        submit(repository=copy.repository, commit=commit, by=charlie)
    copy.write({"submission.toml": ""})
    with pytest.raises(Refusal, match=r"submission\.toml"):
        submit(repository=copy.repository, commit=copy.commit(), by=alice)
    assert not QuotaSlot.objects.exists()
    take_slots(5)
    with pytest.raises(RefusedForNow):
        submit(repository=copy.repository, commit=commit, by=alice)
    assert not Submission.objects.exists()


def test_it_is_charged_to_the_push_budget(copy: Copy, alice: User) -> None:
    commit = copy.commit()
    submit(repository=copy.repository, commit=commit, by=alice)
    PushCost.objects.get(seconds__gt=0, ended_at__isnull=False)
    copy.write({"submission.toml": ""})
    with pytest.raises(Refusal, match=r"submission\.toml"):
        submit(repository=copy.repository, commit=copy.commit(), by=alice)
    PushCost.objects.update(seconds=590)
    with pytest.raises(PushBudgetRefusal, match="push budget is 600 s"):
        submit(repository=copy.repository, commit=commit, by=alice)
