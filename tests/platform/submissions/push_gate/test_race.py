"""Concurrent pushes."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from accounts.models import User
from core.errors import RefusedForNow
from submissions.models import QuotaSlot, Submission

if TYPE_CHECKING:
    from tests.platform.submissions.push_gate.conftest import Copy

PUSHES = 50


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("db")
def test_exactly_five_of_fifty_concurrent_pushes_are_accepted(copy: Copy, alice: User) -> None:
    copy.git("add", "--all")
    for _ in range(PUSHES):
        copy.git("commit", "--quiet", "--allow-empty", "--message", "Something new")
    copy.git("push", "--quiet", str(copy.repository.path), "HEAD:refs/heads/main")
    commits = copy.git("rev-list", "HEAD").splitlines()

    def push(number: int) -> str:
        try:
            _, end = copy.ask(alice, commits[number], f"submission-{number}")
            copy.land(commits[number], f"submission-{number}")
            end()
        except RefusedForNow:
            return "refused"
        finally:
            connection.close()
        return "accepted"

    with ThreadPoolExecutor(max_workers=16) as pool:
        ends = Counter(pool.map(push, range(PUSHES)))
    assert ends == {"accepted": 5, "refused": PUSHES - 5}
    assert Submission.objects.count() == QuotaSlot.objects.filter(state="used").count() == 5
    assert QuotaSlot.objects.count() == 5
