"""A season of the toy format, on a site with `tests.toy_settings`; `test_toy.py` runs it in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from celery import current_app
from django.core.management import call_command
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import create_team, issue_token
from competitions.models import Competition, Organiser
from competitions.sample_store import samples_of
from competitions.services import enter, import_competition
from core import clock, notify
from evaluation.bundle.signature_check import Checked, verify_signed
from repositories.services import repository_of
from rounds import services as rounds
from rounds.planning.plan import plan_round
from rounds.publishing.publication import publish
from rounds.release.parts import release
from rounds.release.signing_keys import public_key
from rounds.verification import verify
from submissions.models import Submission
from tests.platform.conftest import FakeClock
from tests.toy_format.models import Guess

pytestmark = pytest.mark.django_db(transaction=True)

IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
            (("NAME", "Alice"), ("EMAIL", "alice@example.org"))}  # fmt: skip


class Site:
    """A site with the toy's competition, whose workers do what they are notified of."""

    def __init__(self, root: Path, folder: Path, address: str) -> None:
        document = tomllib.loads((root / "tests/toy_format/competition.toml").read_text())
        self.competition: Competition = import_competition(document)
        self.folder, self.address = folder, address
        self.messages: list[tuple[str, dict[str, int]]] = []

    def join(self, user: User) -> None:
        """Found a team of the user's name, and clone its repository."""
        entry = enter(
            team=create_team(slug=user.username, name=user.username.title(), captain=user), competition=self.competition
        )
        repository_of(entry=entry, track=self.competition.tracks.get())
        _, token = issue_token(user=user, name="laptop", scopes=["read", "submit"], days=1)
        address = self.address.replace("://", f"://{user.username}:{token}@")
        self.git("clone", "--quiet", f"{address}/git/{user.username}/solver.git", user.username)

    def git(self, *words: str, at: str = "") -> str:
        """Run git; return what it says."""
        done = subprocess.run(
            ["git", *words], cwd=self.folder / at, capture_output=True, text=True, env=os.environ | IDENTITY
        )
        assert done.returncode in (0, 1), done.stderr
        return re.sub(r"^remote: ?", "", done.stdout + done.stderr, flags=re.MULTILINE)

    def push(self, user: User, guess: str, number: int) -> str:
        """Commit a guess, and push it as a submission."""
        (self.folder / user.username / "guess.txt").write_text(f"{guess}\n")
        self.git("add", "--all", at=user.username)
        self.git("commit", "--quiet", "--message", guess, at=user.username)
        self.git("tag", f"submission-{number}", at=user.username)
        return self.git("push", "origin", "HEAD", f"submission-{number}", at=user.username)

    def beat(self) -> None:
        """Let the workers do all sweeps, and then what they are notified of, until nothing is left."""
        self.messages += [
            (each["task"], {}) for each in current_app.conf.beat_schedule.values() if each["schedule"] == 10.0
        ]
        while self.messages:
            task, keys = self.messages.pop(0)
            current_app.tasks[task](**keys)


@pytest.fixture
def site(root: Path, tmp_path: Path, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The site, with a queue of messages in place of a broker."""
    made = Site(root, tmp_path, live_server.url)
    monkeypatch.setattr(notify, "_send", lambda task, keys: made.messages.append((task, keys)))
    current_app.loader.import_default_modules()  # as a worker does when it starts
    return made


@pytest.fixture
def olga(site: Site) -> User:
    """The organiser."""
    user = User.objects.create_user("olga", "olga@example.org")
    Organiser.objects.create(competition=site.competition, user=user)
    return user


def test_a_season_of_the_toy_format(
    site: Site, olga: User, alice: User, bob: User, client: Client, the_clock: FakeClock
) -> None:
    for user in (alice, bob):
        site.join(user)

    # pushes: the gate refuses a commit without a guess, the smoke test one that is no class
    assert "problem: guess.txt holds no number" in site.push(alice, "three", 1)
    assert "submission-2" in site.push(alice, "77", 2)
    site.beat()
    rejected = Submission.objects.get()
    assert (rejected.state, rejected.reason, rejected.problem) == ("rejected", "check_failed", "77 of 10 classes")
    labels = Counter(int(sample.label) for sample in samples_of(site.competition.sample_sets.get(name="validation")))
    (best, most), *_, (worst, least) = labels.most_common()
    site.push(alice, str(worst), 3)
    site.push(bob, str(best), 1)
    site.beat()

    # the leaderboard, as page, CSV and JSON
    def get(path: str) -> str:
        answer = client.get(f"/competitions/toy/{path}")
        assert answer.status_code == 200, path
        return b"".join(answer).decode()

    share = {"bob": 100 * most / 25, "alice": 100 * least / 25}
    board = get("leaderboards/solver")
    assert board.index("Bob") < board.index("Alice")
    assert f"{share['bob']:.1f}\N{NO-BREAK SPACE}%" in board
    assert get("leaderboards/solver.csv").splitlines() == [
        "rank,team,submission,share",
        f"1,Bob,Always {best},{share['bob']}",
        f"2,Alice,Always {worst},{share['alice']}",
    ]
    answer = client.get("/api/competitions/toy/leaderboards/solver").json()
    assert answer["columns"] == [{"name": "share", "unit": "%", "larger_is_better": True}]
    assert [(row["rank"], row["team"], row["share"]) for row in answer["rows"]] == [
        (1, "bob", share["bob"]),
        (2, "alice", share["alice"]),
    ]

    # a round: planned, frozen and started, paused before it has played, and resumed
    source = site.competition.sample_sets.get(name="test")
    hour = timedelta(hours=1)
    round_ = plan_round(
        competition=site.competition, title="Round 1", kind="development", schedule="", guard=False, source=source,
        samples=20, starts_at=clock.now() + hour, ends_at=clock.now() + 2 * hour, by=olga,
    )  # fmt: skip
    the_clock.at = round_.window.starts_at
    site.beat()
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("frozen", "")
    rounds.start(round_=round_, by=olga)
    rounds.pause(round_=round_, by=olga)
    site.beat()
    assert not round_.entries.exclude(place=None).exists()
    rounds.resume(round_=round_, by=olga)
    site.beat()
    site.beat()
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("scored", "")

    # its publication, its pages, and its bundle, which its public key verifies
    publish(round_=round_, by=olga)
    in_round = Counter(int(sample.label) for sample in samples_of(round_.sample_set))
    places = dict(round_.entries.values_list("submission__repository__entry__team__slug", "place"))
    assert places["bob"] == 1 + (in_round[worst] > in_round[best])
    assert "Bob" in get("rounds/1")
    shown = client.get("/api/competitions/toy/rounds/1").json()["standings"]["solver"]
    assert {row["team"]: row["place"] for row in shown} == places
    release(round_=round_, part="bundle", by=olga, reason="It is over.")
    bundle = get("rounds/1/files/bundle").encode()
    report = verify_signed(bundle, public_key(), None, None, lambda lines: Checked((), (f"{len(lines)} lines",)))
    assert report.ok, report.problems
    call_command("leaderboards", "verify")
    Guess.objects.filter(round=round_, share__gt=0).update(share=0)
    assert "does not follow from its guesses" in str(verify(site.competition).differences)
