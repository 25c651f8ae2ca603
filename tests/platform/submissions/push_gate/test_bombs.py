"""Small pushes that were made to cost much, sent with a real git client: each is the team's error and has its cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import issue_token
from bench.bomb_commits import (
    Bomb,
    Objects,
    attributes,
    copies,
    empty_folders,
    honest,
    key_of_many_parts,
    links,
    long_strings,
    parentheses,
)
from evaluation.formats.query.submissions_2018 import plan_2018
from evaluation.legacy.environment import VARIABLE
from repositories.checkout import check_out
from repositories.models import PushCost
from submissions.models import QuotaSlot, Submission

if TYPE_CHECKING:
    from tests.platform.submissions.push_gate.conftest import Copy

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("db")]


class Sender:
    """Pushes a bomb as a submission of Alice."""

    def __init__(self, copy: Copy, folder: Path, address: str) -> None:
        self._copy, self._folder, self._address = copy, folder, address

    def push(self, bomb: Bomb) -> tuple[str, str]:
        """Return the commit and git's output."""
        objects = Objects(self._folder)
        commit = bomb(objects, honest(objects, self._copy.folder))
        command = ["git", "push", self._address, f"{commit}:refs/tags/submission-1"]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        return commit, done.stderr


@pytest.fixture
def sender(copy: Copy, alice: User, live_server: LiveServer, tmp_path: Path) -> Sender:
    _, token = issue_token(user=alice, name="laptop", scopes=["read", "submit"], days=1)
    address = live_server.url.replace("://", f"://alice:{token}@") + "/git/owls/model.git"
    return Sender(copy, tmp_path / "bomb", address)


@pytest.mark.parametrize(
    ("bomb", "problem"),
    [
        (copies(1), "the files have 9,990 MiB in total when checked out; at most 2,048 MiB are allowed"),
        (links, "the commit has 9,990 symbolic links; at most 100 are allowed"),
        (empty_folders, "has a path of more than 3,072 bytes"),
        (parentheses, "requirements.txt, line 1"),
        (key_of_many_parts, "submission.toml, line 1: unknown table [a]"),
    ],
)
def test_a_bomb_is_the_teams_error(sender: Sender, bomb: Bomb, problem: str) -> None:
    _, shown = sender.push(bomb)
    assert problem in shown
    assert "remote:   fix: " in shown
    assert "platform error" not in shown
    assert not QuotaSlot.objects.exists()
    assert not PushCost.objects.filter(platform_error=True).exists()


def test_a_program_that_takes_too_long_is_charged(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, sys.prefix)
    monkeypatch.setattr(plan_2018, "_SECONDS", 1)
    _, shown = sender.push(long_strings)
    assert "the program and its requirements: reading it takes more than 1 s of processor time" in shown
    assert not QuotaSlot.objects.exists()
    assert max(PushCost.objects.values_list("seconds", flat=True)) > 1


def test_attributes_change_nothing(sender: Sender, copy: Copy, tmp_path: Path) -> None:
    commit, shown = sender.push(attributes)
    assert "Submission" in shown
    submission = Submission.objects.get()
    check_out(submission.repository.path, commit, tmp_path / "checkout")
    assert (tmp_path / "checkout" / "main.py").read_bytes() == (copy.folder / "main.py").read_bytes()
