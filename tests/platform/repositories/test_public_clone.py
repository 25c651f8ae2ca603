"""Public clones of released code, and the privacy of everything else."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from competitions.models import Competition, Entry, FreezeWindow, SampleSet, Track
from core import clock
from core.errors import Fault, Refusal
from repositories.http.concurrency_limits import ANYBODY, LIMITER, Permit
from repositories.models import Repository
from repositories.public_copies import drop_copies, public_copy
from rounds.models import Release, Round, RoundEntry
from rounds.release.released_parts import release, released_tags, withdraw
from rounds.tasks import copy_code
from submissions.models import Player, Submission


class Site(Protocol):
    """`Arena` of the conftest."""

    address: str
    repositories: Path

    def url(self, token: str, place: str = "owls/model") -> str: ...


class WorkingCopy(Protocol):
    """`Copy` of the conftest."""

    folder: Path

    def git(self, *words: str) -> str: ...
    def ask(self, *words: str) -> tuple[int, str]: ...
    def commit(self, files: dict[str, str | bytes], message: str = "work") -> str: ...


MakeRound = Callable[..., Round]


@pytest.fixture
def make_round(competition: Competition, alice: User) -> MakeRound:
    """Create a published round with one entry: a commit of the Owls' model repository, under a tag."""

    def make(number: int, commit: str, tag: str, *, eligible: bool = True, licence: str = "MIT") -> Round:
        now = clock.now()
        window = FreezeWindow.objects.create(
            competition=competition, starts_at=now, ends_at=now + timedelta(days=number), reason=f"round {number}"
        )
        samples = SampleSet.objects.create(
            competition=competition, name=f"round-{number}", purpose="test", source="digits", split="test-1",
            count=1, target_seed=1, digest="0" * 64, imported_at=now,
        )  # fmt: skip
        made = Round.objects.create(
            competition=competition, number=number, title=f"Round {number}", kind="final", window=window,
            sample_set=samples, state=Round.State.PUBLISHED, state_since=now, planned_at=now,
        )  # fmt: skip
        track = Track.objects.get(competition=competition, name="model")
        repository = Repository.objects.get(entry__competition=competition, track=track)
        player = Player.objects.create(
            competition=competition, track_name="model", digest=f"sha256:{number:064x}", title="owls", command=["x"],
            repository=repository, commit=commit, created_at=now,
        )  # fmt: skip
        submission = Submission.objects.create(
            repository=repository, commit=commit, tag=tag, submitted_by=alice, received_at=now, title="owls",
            licence=licence, state="ready", state_since=now, player=player,
        )  # fmt: skip
        RoundEntry.objects.create(
            round=made, track=track, submission=submission, player=player, order=1, prior=1, eligible=eligible
        )
        return made

    return make


@pytest.fixture
def public(arena: Site) -> str:
    """The address of the Owls' public copy."""
    return f"http://{arena.address}/git/public/owls/model.git"


@pytest.fixture
def boss(competition: Competition) -> User:
    """A superuser."""
    return User.objects.create_superuser("boss", "boss@example.org", "a long enough password")


def test_a_clone_of_released_code_has_the_released_commit_and_nothing_else(
    arena: Site, copy: WorkingCopy, token: str, public: str, boss: User, make_round: MakeRound, tmp_path: Path
) -> None:
    entered = copy.git("rev-parse", "HEAD")
    copy.git("tag", "-a", "-m", "a private word", "submission-1")
    side = _side_branch(copy)
    later = copy.commit({"later.py": "later work\n"})
    copy.git("tag", "submission-2")
    for ref in ("main", "side", "submission-1", "submission-2"):
        copy.git("push", arena.url(token), ref)
    assert "there is no repository owls/model.git" in copy.ask("clone", public, str(tmp_path / "too-early"))[1]
    release(round_=make_round(1, entered, "submission-1"), part=Release.Part.CODE, by=boss, reason="the end")

    copy.git("clone", public, str(tmp_path / "clone"))
    assert copy.git("ls-remote", public).split() == [entered, "HEAD", entered, "refs/tags/submission-1"]
    assert (tmp_path / "clone" / "main.py").read_text() == "print('plays')\n"
    assert not (tmp_path / "clone" / "later.py").exists()
    # protocol 2 serves any object by its name: so no other object may exist here
    for secret in (later, side, copy.git("rev-parse", "submission-1")):
        for protocol in ("0", "2"):
            words = ("-c", f"protocol.version={protocol}", "-C", str(tmp_path / "clone"), "fetch", public, secret)
            assert copy.ask(*words)[0] != 0
    # the team's own address is unchanged, with and without a token
    assert later in copy.git("ls-remote", arena.url(token), "refs/heads/main")
    assert "terminal prompts disabled" in copy.ask("ls-remote", f"http://{arena.address}/git/owls/model.git")[1]


def test_code_of_another_round_than_a_final_is_released_when_the_competition_has_ended(
    arena: Site, copy: WorkingCopy, token: str, public: str, boss: User, make_round: MakeRound
) -> None:
    entered = copy.git("rev-parse", "HEAD")
    copy.git("tag", "submission-1")
    copy.git("push", arena.url(token), "main", "submission-1")
    made = make_round(1, entered, "submission-1")
    Round.objects.filter(pk=made.pk).update(kind="development")
    made.refresh_from_db()
    with pytest.raises(Refusal, match="is still running"):
        release(round_=made, part="code", by=boss, reason="to learn from")
    Competition.objects.filter(pk=made.competition_id).update(ends_at=clock.now())
    release(round_=made, part="code", by=boss, reason="to learn from")
    assert entered in copy.git("ls-remote", public)


def _side_branch(copy: WorkingCopy) -> str:
    copy.git("checkout", "--quiet", "-b", "side")
    made = copy.commit({"side.py": "an idea\n"})
    copy.git("checkout", "--quiet", "main")
    return made


def test_two_rounds_are_released_and_withdrawn_independently(
    arena: Site, copy: WorkingCopy, token: str, public: str, boss: User, make_round: MakeRound
) -> None:
    first = copy.git("rev-parse", "HEAD")
    copy.git("tag", "submission-1")
    second = copy.commit({"later.py": "1\n"})
    copy.git("tag", "submission-2")
    copy.git("push", arena.url(token), "main")
    for tag in ("submission-1", "submission-2"):
        copy.git("push", arena.url(token), tag)
    rows = [
        release(round_=make_round(number, commit, f"submission-{number}"), part="code", by=boss, reason="the end")
        for number, commit in ((1, first), (2, second))
    ]
    assert copy.git("ls-remote", public, "HEAD").startswith(second)
    withdraw(release=rows[1], by=boss, reason="a secret is in it")
    assert copy.git("ls-remote", public).split() == [first, "HEAD", first, "refs/tags/submission-1"]
    (copied,) = (arena.repositories / "public").iterdir()
    assert copy.ask("--git-dir", str(copied), "cat-file", "-e", second)[0] != 0
    withdraw(release=rows[0], by=boss, reason="that too")
    assert "there is no repository owls/model.git" in copy.ask("ls-remote", public)[1]
    assert Repository.objects.get(track__name="model").public_since is None
    assert list((arena.repositories / "public").iterdir()) == []


def test_it_rejects_pushes(
    arena: Site, copy: WorkingCopy, token: str, public: str, boss: User, make_round: MakeRound
) -> None:
    head = copy.git("rev-parse", "HEAD")
    copy.git("push", arena.url(token), "main")
    release(round_=make_round(1, head, "submission-1"), part="code", by=boss, reason="the end")
    assert "terminal prompts disabled" in copy.ask("push", public, "main:theirs")[1]
    named = public.replace("http://", f"http://me:{token}@")
    assert "this copy is read-only; push to /git/owls/model.git" in copy.ask("push", named, "main:theirs")[1]
    assert copy.git("ls-remote", public, "refs/heads/*") == ""


@pytest.mark.parametrize(
    ("eligible", "licence", "hidden"), [(False, "MIT", False), (True, "BUSL-1.1", False), (True, "MIT", True)]
)
def test_it_rejects_what_is_not_released(
    bare: Repository, client: Client, make_round: MakeRound, boss: User, eligible: bool, licence: str, hidden: bool
) -> None:
    made = make_round(1, "a" * 40, "submission-1", eligible=eligible, licence=licence)
    Release.objects.create(round=made, part="code", released_at=clock.now(), released_by=boss)
    Repository.objects.update(public_since=clock.now())
    Competition.objects.update(public=not hidden)
    assert client.get("/git/public/owls/model.git/info/refs?service=git-upload-pack").status_code == 404


@pytest.fixture
def bare(entry: Entry, tracks: dict[str, Track]) -> Repository:
    """The row of the Owls' model repository."""
    return Repository.objects.create(entry=entry, track=tracks["model"], created_at=clock.now())


@pytest.fixture
def served(bare: Repository, copy: WorkingCopy, boss: User, make_round: MakeRound) -> Repository:
    """The Owls' repository with one released commit; needs no server."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare.path)], check=True)
    copy.git("push", str(bare.path), "main")
    made = make_round(1, copy.git("rev-parse", "HEAD"), "submission-1")
    release(round_=made, part="code", by=boss, reason="the end")
    bare.refresh_from_db()
    return bare


ADVERTISED = "/git/public/owls/model.git/info/refs?service=git-upload-pack"


def test_anonymous_clones_share_the_limit_of_one_user(served: Repository, client: Client) -> None:
    permits = [Permit(ANYBODY), Permit(ANYBODY)]
    for permit in permits:
        LIMITER.wait(permit)
        LIMITER.start(permit)
    answer = client.get(ADVERTISED)
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert b"too many downloads of released files" in answer.content
    for permit in permits:
        LIMITER.release(permit)
    assert b"".join(client.get(ADVERTISED)).startswith(b"001e# service=git-upload-pack\n")


def test_nothing_is_cloned_while_it_is_disqualified(served: Repository, client: Client) -> None:
    Submission.objects.update(disqualified_at=clock.now())
    assert client.get(ADVERTISED).status_code == 404
    Submission.objects.update(disqualified_at=None)
    assert b"".join(client.get(ADVERTISED)).startswith(b"001e# service=git-upload-pack\n")


def test_it_rejects_a_release_of_a_commit_that_is_gone(served: Repository, boss: User, make_round: MakeRound) -> None:
    with pytest.raises(Fault, match=f"owls/model lacks the commits {'a' * 40}"):
        release(round_=make_round(2, "a" * 40, "submission-2"), part="code", by=boss, reason="the end")
    assert Release.objects.count() == 1


def test_a_worker_copies_what_is_released_and_nothing_that_was_withdrawn_meanwhile(
    served: Repository, boss: User, settings: Settings
) -> None:
    public, made = settings.REPOSITORIES / "public", Release.objects.get()
    drop_copies(served, but={})
    copy_code(round=made.round_id)
    copy_code(round=made.round_id)
    assert list(public.iterdir()) == [public_copy(served, released_tags(served))]
    withdraw(release=made, by=boss, reason="A team asked for it.")
    copy_code(round=made.round_id)
    assert list(public.iterdir()) == []


def test_a_copy_is_created_once_under_concurrent_calls(served: Repository) -> None:
    tags = released_tags(served)
    drop_copies(served, but={})
    with ThreadPoolExecutor(4) as pool:
        (path,) = set(pool.map(lambda _: public_copy(served, tags), range(4)))
    assert list(path.parent.iterdir()) == [path]


def test_a_lost_copy_is_created_again(served: Repository, client: Client) -> None:
    tags = released_tags(served)
    path = public_copy(served, tags)
    path.rename(path.with_suffix(".away"))
    assert b"refs/tags/submission-1" in b"".join(client.get(ADVERTISED))
    assert public_copy(served, tags) == path
    assert path.is_dir()


@pytest.mark.parametrize("service", ["HEAD", "objects/info/packs", "info/refs", "config", "../1.git/git-upload-pack"])
def test_it_rejects_other_services(served: Repository, client: Client, service: str) -> None:
    assert client.get(f"/git/public/owls/model.git/{service}").status_code in (403, 404)
    assert client.post(f"/git/public/owls/model.git/{service}").status_code in (403, 404)
