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
from django.db.models import F
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import create_team, issue_token
from competitions.models import Competition, Organiser
from competitions.sample_store import samples_of
from competitions.services import enter, import_competition
from core import clock, worker_notifications
from evaluation.bundle.canonical_json import decode_line, split
from evaluation.bundle.signature_check import Checked, verify_signed
from repositories.services import repository_of
from rounds.models import Round
from rounds.planning.plan import plan_round
from rounds.publishing.publication import publish
from rounds.release.released_parts import release
from rounds.release.signing_keys import public_key
from rounds.running import lifecycle as rounds
from rounds.site_verification import verify
from submissions.models import Submission
from tests.platform.conftest import FakeClock
from tests.toy_format.models import Guess
from tests.toy_format.submissions import guess_of
from workers import queue
from workers.models import Worker

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

    def labels(self, sample_set: str) -> Counter[int]:
        """Count the classes of a set."""
        return Counter(int(sample.label) for sample in samples_of(self.competition.sample_sets.get(name=sample_set)))

    def plan(self, by: User) -> Round:
        """Plan a round that begins in an hour."""
        hour = timedelta(hours=1)
        return plan_round(
            competition=self.competition, title="Round 1", kind="development", schedule="", guard=False, samples=15,
            source=self.competition.sample_sets.get(name="test"), by=by,
            starts_at=clock.now() + hour, ends_at=clock.now() + 2 * hour,
        )  # fmt: skip

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
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: made.messages.append((task, keys)))
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
    _refusals(site, alice)
    (best, most), *_, (worst, least) = site.labels("validation").most_common()
    site.push(alice, str(worst), 3)
    site.push(bob, str(best), 1)
    site.beat()
    _board(client, [f"1,Bob,Always {best},{100 * most / 25}", f"2,Alice,Always {worst},{100 * least / 25}"])

    round_ = site.plan(olga)
    the_clock.at = round_.window.starts_at
    site.beat()  # it is frozen
    rounds.start(round_=round_, by=olga)
    rounds.pause(round_=round_, by=olga)
    site.beat()
    assert not round_.guesses.exclude(share=None).exists()
    rounds.resume(round_=round_, by=olga)
    _worker_killed(round_, the_clock)
    for _ in range(2):
        site.beat()
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("scored", "")
    _failed_work(client, round_)
    publish(round_=round_, by=olga)
    release(round_=round_, part="bundle", by=olga, reason="It is over.")
    _result(client, round_)

    call_command("leaderboards", "verify")
    Guess.objects.filter(round=round_).update(share=F("share") + 1)
    assert "does not follow from its guesses" in str(verify(site.competition).differences)


def _refusals(site: Site, alice: User) -> None:
    """The push gate rejects a commit without a number, the smoke test a number that is no class."""
    assert "problem: guess.txt holds no number" in site.push(alice, "three", 1)
    assert "received: Always 77" in site.push(alice, "77", 2)
    site.beat()
    rejected = Submission.objects.get()
    assert (rejected.state, rejected.reason, rejected.problem) == ("rejected", "check_failed", "77 of 10 classes")


def _board(client: Client, rows: list[str]) -> None:
    """The leaderboard has these rows: as a page, as CSV and in the API."""
    address = "/competitions/toy/leaderboards/solver"
    assert client.get(f"{address}.csv").content.decode().splitlines() == ["rank,team,submission,share", *rows]
    answer = client.get(f"/api/v1{address}").json()
    assert answer["columns"] == [{"name": "share", "unit": "%", "larger_is_better": True}]
    assert [f"{row['rank']},{row['team'].title()}" for row in answer["rows"]] == [
        row[: row.index(",Always")] for row in rows
    ]
    page = client.get(address).content.decode()
    shown = [page.index(f">{row.split(',')[1]}<") for row in rows]
    assert shown == sorted(shown)
    for row in rows:
        assert f"{float(row.split(',')[-1]):.1f}\N{NO-BREAK SPACE}%" in page


def _failed_work(client: Client, round_: Round) -> None:
    """Work without an admin page is on the first page of the admin all the same: for superusers, without a link."""
    round_.guesses.update(state=Guess.State.FAILED)
    root = User.objects.create_superuser("root", "root@example.org")
    staff = User.objects.create_user("otto", "otto@example.org", is_staff=True)
    for user, cards in ((root, [(round_.guesses.count(), "")]), (staff, [])):
        client.force_login(user)
        shown = client.get("/admin/").context["incidents"]
        assert [(card.count, card.link) for card in shown if card.title.startswith("Toy:")] == cards
    client.logout()
    round_.guesses.update(state=Guess.State.PLAYED)


def _worker_killed(round_: Round, the_clock: FakeClock) -> None:
    """A worker claims a guess of a running round, and is never seen again."""
    claimed = queue.claim(Worker(name="lost/0", worker_class="cpu"))
    assert claimed is not None
    assert claimed.claim.round_id == round_.pk
    the_clock.forward(minutes=1)


def _result(client: Client, round_: Round) -> None:
    """The round's page, the API and its bundle, which the site's key verifies, show one result."""
    places = dict(round_.entries.values_list("submission__repository__entry__team__slug", "place"))
    labels = Counter(int(sample.label) for sample in samples_of(round_.sample_set))
    share = {
        each.submission.repository.entry.team.slug: labels[guess_of(each.submission)] for each in round_.entries.all()
    }
    assert places == {team: 1 + sum(other > own for other in share.values()) for team, own in share.items()}
    assert "Bob" in client.get("/competitions/toy/rounds/1").content.decode()
    shown = client.get("/api/v1/competitions/toy/rounds/1").json()["standings"]["solver"]
    assert {row["team"]: row["place"] for row in shown} == places
    bundle = b"".join(client.get("/competitions/toy/rounds/1/files/bundle"))
    report = verify_signed(bundle, public_key(), None, None, lambda lines: Checked((), (f"{len(list(lines))} lines",)))
    assert report.ok, report.problems
    lines = [decode_line(number, line) for number, line in enumerate(split(bundle), 1)]
    assert [line["place"] for line in lines if line["kind"] == "guess"] == list(
        round_.entries.order_by("order").values_list("place", flat=True)
    )
