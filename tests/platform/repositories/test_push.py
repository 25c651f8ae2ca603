"""Output of git clone and git push."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Protocol

import pytest

from accounts.models import AccessToken, Membership, Team, User
from accounts.services import issue_token, revoke_token
from competitions.models import Entry
from core.models import Event
from repositories.models import Repository


class Site(Protocol):
    """`Arena` of the conftest."""

    def url(self, token: str, place: str = "owls/model") -> str: ...
    def settled(self) -> list[str]: ...


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    folder: Path

    def git(self, *words: str) -> str: ...
    def start(self, *words: str) -> subprocess.Popen[str]: ...
    def ask(self, *words: str) -> tuple[int, str]: ...
    def commit(self, files: dict[str, str | bytes], message: str = "work") -> str: ...


def token_of(user: User, *scopes: str) -> str:
    return issue_token(user=user, name="laptop", scopes=scopes or ("read", "submit"), days=7)[1]


def test_a_push_is_accepted_and_can_be_cloned(arena: Site, copy: WorkingCopy, token: str, tmp_path: Path) -> None:
    head = copy.git("rev-parse", "HEAD")
    said = copy.git("push", arena.url(token), "main")
    assert "remote: Accepted." in said
    assert re.search(r"remote: See http://127.0.0.1:\d+/submissions/1", said)
    copy.git("clone", arena.url(token), str(tmp_path / "clone"))
    assert (tmp_path / "clone" / "main.py").read_text() == "print('plays')\n"
    assert head in copy.git("ls-remote", arena.url(token), "refs/heads/main")
    repository = Repository.objects.get(track__name="model")
    assert repository.pushed_at is not None
    assert repository.size_bytes > 0
    assert Event.objects.get(verb="pushed").data == {"refs": ["refs/heads/main"]}
    assert arena.settled() == []


def test_a_clone_has_the_files_of_the_branch_that_was_pushed_whatever_its_name(
    arena: Site, copy: WorkingCopy, token: str, tmp_path: Path
) -> None:
    copy.git("push", arena.url(token), "main:master")
    said = copy.git("clone", arena.url(token), str(tmp_path / "clone"))
    assert "unable to checkout" not in said
    assert (tmp_path / "clone" / "main.py").read_text() == "print('plays')\n"
    copy.git("push", arena.url(token), "main:another")
    assert "ref: refs/heads/master\tHEAD" in copy.git("ls-remote", "--symref", arena.url(token), "HEAD")


def test_a_repository_accepts_more_pushes_and_deleted_branches(arena: Site, copy: WorkingCopy, token: str) -> None:
    copy.git("push", arena.url(token), "main", "main:idea")
    copy.commit({"more.py": "1\n"})
    copy.git("push", arena.url(token), "main", ":idea")
    assert "idea" not in copy.git("ls-remote", arena.url(token))


@pytest.mark.parametrize(
    ("branch", "words"),
    [
        (
            "refused",
            [
                "rejected. Nothing was recorded and no slot was used.",
                "problem: the gate does not like \\x1b",
                "fix: paint it green",
            ],
        ),
        ("later", ["problem: not now", "accepted again from 2099-", " UTC (in "]),
        ("failing", ["platform error. Nothing was recorded. Please push again."]),
    ],
)
def test_it_rejects_what_the_push_gate_rejects(
    arena: Site, copy: WorkingCopy, token: str, branch: str, words: list[str]
) -> None:
    status, said = copy.ask("push", arena.url(token), f"main:{branch}")
    assert status == 1
    assert all(re.search(rf"remote: .*{re.escape(each)}", said) for each in words), said
    assert "secret" not in said
    assert copy.git("ls-remote", arena.url(token)) == ""
    assert arena.settled() == []


def test_it_rejects_callers_without_a_valid_token(arena: Site, copy: WorkingCopy, alice: User, token: str) -> None:
    revoked = token_of(alice)
    revoke_token(token=AccessToken.objects.latest("pk"), by=alice)
    reader = token_of(alice, "read")
    for bad, place in ((f"{token}x", "owls/model"), (revoked, "owls/model"), (reader, "owls/model"), ("x", "no/no")):
        status, said = copy.ask("push", arena.url(bad, place), "main")
        assert status == 128
        assert "Authentication failed" in said
    assert copy.git("ls-remote", arena.url(reader)) == ""


def test_it_rejects_strangers_and_pushes_of_organisers(
    arena: Site, copy: WorkingCopy, token: str, charlie: User, olga: User, tmp_path: Path
) -> None:
    copy.git("push", arena.url(token), "main")
    status, said = copy.ask("clone", arena.url(token_of(charlie)), str(tmp_path / "stolen"))
    assert (status, "remote: Gauntlet: charlie is not a member of the team The Owls" in said) == (128, True), said
    copy.git("clone", arena.url(token_of(olga)), str(tmp_path / "seen"))
    status, said = copy.ask("push", arena.url(token_of(olga)), "main:hers")
    assert (status, "only its members can push" in said) == (128, True), said
    status, said = copy.ask("push", arena.url(token, "hawks/model"), "main")
    assert (status, "there is no repository hawks/model.git" in said) == (128, True), said


def test_it_rejects_moved_and_deleted_submission_tags(arena: Site, copy: WorkingCopy, token: str) -> None:
    copy.git("tag", "submission-1")
    copy.git("push", arena.url(token), "submission-1")
    before = copy.git("ls-remote", arena.url(token))
    copy.commit({"more.py": "1\n"})
    copy.git("tag", "--force", "submission-1")
    status, said = copy.ask("push", "--force", arena.url(token), "submission-1")
    assert (status, "cannot be moved" in said, "use a new tag name" in said) == (1, True, True), said
    status, said = copy.ask("push", arena.url(token), ":submission-1")
    assert (status, "cannot be deleted" in said) == (1, True), said
    assert copy.git("ls-remote", arena.url(token)) == before


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (["main:refs/tags/submission-1", "main:refs/tags/submission-2"], "this push has 2 submission tags"),
        (["main:refs/notes/x"], "refs/notes/x is neither a branch nor a tag"),
        (["main:refs/heads/ümlaut"], "ref name \\xfcmlaut is not allowed"),
        (["main:refs/tags/submission-web-1"], "tag name submission-web-1 is reserved for the site"),
    ],
)
def test_it_rejects_refs(arena: Site, copy: WorkingCopy, token: str, targets: list[str], words: str) -> None:
    status, said = copy.ask("push", arena.url(token), *targets)
    assert status == 1
    assert words in said or words.replace("\\xfc", "ü") in said
    assert not Event.objects.filter(verb="asked").exists()


def test_it_rejects_submodules(arena: Site, copy: WorkingCopy, token: str) -> None:
    head = copy.git("rev-parse", "HEAD")
    copy.git("update-index", "--add", "--cacheinfo", f"160000,{head},inner")
    copy.git("commit", "--quiet", "--message", "a submodule")
    status, said = copy.ask("push", arena.url(token), "main")
    assert (status, "remote:   problem: inner: submodules are not allowed" in said) == (1, True), said


def test_it_rejects_objects_that_fail_fsck(arena: Site, copy: WorkingCopy, token: str) -> None:
    bad = copy.folder / "bad"
    tree = copy.git("rev-parse", "HEAD^{tree}")
    bad.write_text(f"tree {tree}\nauthor A <a@b> 1 +0000\ncommitter nobody at all\n\nbad\n")
    commit = copy.git("hash-object", "-t", "commit", "-w", "--literally", "bad")
    status, said = copy.ask("push", arena.url(token), f"{commit}:refs/heads/main")
    assert status == 1
    assert "fsck error" in said
    assert arena.settled() == []


def test_it_rejects_a_pack_that_is_too_large(arena: Site, copy: WorkingCopy, token: str) -> None:
    copy.git("config", "core.compression", "0")
    copy.commit({"weights": os.urandom(33 << 20)})
    status, said = copy.ask("push", arena.url(token), "main")
    assert status == 1
    assert "pack exceeds maximum allowed size (32.00 MiB)" in said
    assert arena.settled() == []


def test_eight_users_push_concurrently(arena: Site, copy: WorkingCopy, entry: Entry) -> None:
    tokens = []
    for number in range(8):
        user = User.objects.create_user(username=f"u{number}")
        tokens.append(token_of(user))
        team = Team.objects.create(slug=f"t{number}", name=f"Team {number}", created_at=entry.joined_at)
        Membership.objects.create(team=team, user=user, role="captain", joined_at=entry.joined_at)
        Entry.objects.create(team=team, competition=entry.competition, joined_at=entry.joined_at)
    started = [copy.start("push", arena.url(token, f"t{n}/model"), "main:slow") for n, token in enumerate(tokens)]
    for push in started:
        _, said = push.communicate(timeout=60)
        assert push.returncode == 0, said
    assert Event.objects.filter(verb="pushed").count() == 8


def test_of_two_concurrent_pushes_to_a_branch_one_is_accepted(arena: Site, copy: WorkingCopy, token: str) -> None:
    commits = [copy.commit({"main.py": f"print({number})\n"}, message=str(number)) for number in range(2)]
    started = [copy.start("push", "--force", arena.url(token), f"{commit}:refs/heads/slow") for commit in commits]
    ended = [(push.communicate(timeout=60)[1], push.returncode) for push in started]
    assert sorted(status for _, status in ended) == [0, 1], ended
    lost = next(said for said, status in ended if status == 1)
    assert "failed to update ref" in lost or "has changed since your last fetch" in lost, lost
    won = commits[[status for _, status in ended].index(0)]
    assert copy.git("ls-remote", arena.url(token), "refs/heads/slow").split()[0] == won
    assert arena.settled() == []
