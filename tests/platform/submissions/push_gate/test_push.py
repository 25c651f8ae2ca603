"""A real git client pushes over a real socket."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import requests
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import issue_token
from competitions.models import Track
from competitions.terms import accept_terms, publish_terms
from core.errors import RefusedForNow
from core.time_format import in_words
from repositories.models import Repository
from submissions.admission import check_quota
from submissions.models import QuotaSlot, Submission

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.submissions.push_gate.conftest import Copy

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("db")]

Push = Callable[..., tuple[bool, str]]


@pytest.fixture
def push(copy: Copy, alice: User, live_server: LiveServer) -> Push:
    """Commit and push these refs as Alice; return whether git succeeded, and its output."""
    _, token = issue_token(user=alice, name="laptop", scopes=["read", "submit"], days=1)
    copy.git("remote", "add", "origin", live_server.url.replace("://", f"://alice:{token}@") + "/git/owls/model.git")

    def pushed(*refs: str) -> tuple[bool, str]:
        copy.git("add", "--all")
        copy.git("commit", "--quiet", "--allow-empty", "--message", "Something new")
        for ref in refs:
            if ref.startswith("submission-") and not copy.git("tag", "--list", ref):
                copy.git("tag", ref)
        done = subprocess.run(["git", "push", "origin", *refs], cwd=copy.folder, capture_output=True, text=True)
        return done.returncode == 0, re.sub(r"^remote: ?", "", done.stderr, flags=re.MULTILINE)

    return pushed


def test_a_pushed_tag_is_received_and_answered_with_its_page_and_the_slots_left(
    push: Push, live_server: LiveServer, notifications: list[object]
) -> None:
    content, shown = push("main", "submission-1")
    assert content, shown
    submission = Submission.objects.get()
    assert f"Submission {submission.pk} received: Wise owl" in shown
    assert f"{live_server.url}/submissions/{submission.pk}" in shown
    assert "plan: " in shown
    assert "Slots left: 4 of 5" in shown
    assert len(shown.splitlines()) < 24
    assert notifications == [("submissions.build", {"submission": submission.pk})]


def test_a_plain_push_says_how_to_submit(push: Push) -> None:
    content, shown = push("main")
    assert content, shown
    assert "git tag submission-1 && git push origin HEAD submission-1" in shown


def test_it_rejects_a_bad_manifest_with_its_fix_and_accepts_the_fixed_one(push: Push, copy: Copy) -> None:
    good = (copy.folder / "submission.toml").read_text()
    copy.write({"submission.toml": good.replace("title", "titel")})
    content, shown = push("main", "submission-1")
    assert not content
    assert "submission.toml, line 4: unknown key 'titel'" in shown
    assert "did you mean 'title'?" in shown
    assert not QuotaSlot.objects.exists()
    assert not copy.git("ls-remote", "--refs", "origin")

    copy.write({"submission.toml": good})
    assert "then: git add --all && git commit && git tag -f submission-1 && git push origin HEAD submission-1" in shown
    copy.git("commit", "--quiet", "--all", "--message", "Fixed")
    copy.git("tag", "--force", "submission-1")
    content, shown = push("submission-1")
    assert content, shown


def test_it_rejects_a_script_that_is_not_in_the_commit(push: Push, copy: Copy) -> None:
    manifest = (copy.folder / "submission.toml").read_text()
    copy.write({"submission.toml": manifest.replace("main.py", "mian.py")})
    content, shown = push("main", "submission-1")
    assert not content
    assert "run starts 'mian.py', which is not in the commit" in shown
    assert "did you mean 'main.py'?" in shown
    assert not QuotaSlot.objects.exists()


def test_it_rejects_a_push_by_hand_that_calls_the_tag_of_a_rejected_submission_new(
    push: Push, copy: Copy, live_server: LiveServer
) -> None:
    push("main", "submission-1")
    Submission.objects.update(state=Submission.State.REJECTED)
    commit = copy.git("rev-parse", "HEAD")
    line = f"{'0' * 40} {commit} refs/tags/submission-1\0report-status side-band-64k".encode()
    pack = b"PACK\0\0\0\2\0\0\0\0"
    body = b"%04x" % (len(line) + 4) + line + b"0000" + pack + hashlib.sha1(pack, usedforsecurity=False).digest()
    credentials = urlsplit(copy.git("remote", "get-url", "origin"))
    password = base64.b64encode(f"alice:{credentials.password}".encode()).decode()
    answer = requests.post(
        f"{live_server.url}/git/owls/model.git/git-receive-pack",
        data=body,
        headers={"Authorization": f"Basic {password}", "Content-Type": "application/x-git-receive-pack-request"},
        timeout=60,
    )
    assert b"the tag submission-1 exists already" in answer.content
    assert list(QuotaSlot.objects.values_list("state", flat=True)) == ["used"]
    assert Submission.objects.count() == 1


def test_a_quota_of_one_is_said_in_the_singular(copy: Copy, take_slots: Callable[[int], None]) -> None:
    Track.objects.filter(pk=copy.repository.track_id).update(quota=1)
    take_slots(1)
    with pytest.raises(RefusedForNow, match=r"^the one submission of The Owls to the model track in 24 hours is used$"):
        check_quota(Repository.objects.get(pk=copy.repository.pk))


def test_it_rejects_the_sixth_push_of_a_day_with_the_time_of_the_next_slot(
    push: Push, the_clock: FakeClock, take_slots: Callable[[int], None]
) -> None:
    take_slots(4)
    the_clock.forward(hours=1)
    assert push("submission-5")[0]
    content, shown = push("submission-6")
    assert not content
    assert "all 5 submissions of The Owls to the model track in 24 hours are used" in shown
    frees = the_clock.at + timedelta(hours=23)
    assert f"accepted again from {in_words(frees)} (in 23 h 0 min)" in shown
    assert Submission.objects.count() == 1


def test_a_push_without_accepted_terms_is_rejected_with_their_address(
    push: Push, live_server: LiveServer, copy: Copy, alice: User, olga: User
) -> None:
    terms = publish_terms(competition=copy.repository.track.competition, text="Be fair.", by=olga)
    done, answer = push("submission-1")
    assert not done
    assert "The Owls has not accepted version 1" in answer
    assert f"the captain reads and accepts them at {live_server.url}/competitions/digits/terms" in answer
    assert not QuotaSlot.objects.exists()
    assert push("HEAD")[0]  # code is stored
    accept_terms(entry=copy.repository.entry, digest=terms.digest, by=alice)
    assert push("submission-1")[0]
