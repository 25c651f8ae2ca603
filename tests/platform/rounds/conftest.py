"""A competition with many constant players, distances from a seeded matrix, and workers that play them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from accounts.models import Team, User
from competitions.models import Competition, Entry, RulesVersion, SampleSet, Track
from competitions.sample_store import keep_samples, worst_cases
from core import clock, object_store, worker_notifications
from evaluation.formats.query.results import AuditReport, Outcome, RefereedSample
from evaluation.formats.query.rules import QueryRules
from formats.query.matches.models import Piece
from formats.query.matches.piece_queue import Claim
from formats.query.matches.piece_result import PlayedPiece
from formats.query.rounds.round_advancement import advance_round
from repositories.models import Repository
from rounds.models import Round
from rounds.planning import commitment_salts
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.running import lifecycle
from submissions.models import Player, Submission
from tests.platform.claims import play_waiting
from workers.models import Worker

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock

SALT = "7" * 64
BYTES = b"the images of a piece"


def digest_of(kind: str, number: int) -> str:
    """The digest of player `number` of a track: the lower the number, the better it plays."""
    return f"sha256:{hashlib.sha256(kind.encode()).hexdigest()[:56]}{number:08d}"


def distance_of(model: str, attack: str, sample: int) -> float:
    """One entry of the matrix: models are the harder and attacks the stronger the lower their number is."""
    draw = random.Random(f"{model} {attack} {sample}").gauss(0.0, 0.15)
    return float(2.0 * 1.15 ** (int(attack[-8:]) - int(model[-8:]) + draw))


@dataclass
class RoundFixture:
    """Creates rows, plays waiting pieces, and runs rounds."""

    competition: Competition
    tracks: dict[str, Track]
    organiser: User
    sources: dict[str, SampleSet]
    clock: FakeClock
    distance: Callable[[str, str, int], float] = distance_of
    numbers: count[int] = field(default_factory=lambda: count(1))
    known: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def player(self, kind: str, number: int, baseline: str = "constant") -> Player:
        known = Player.objects.filter(
            competition=self.competition, track_name=kind, digest=digest_of(kind, number)
        ).first()
        if known is None:
            known = self._new_player(kind, number, baseline)
            known.save()
        return known

    def entry(self, slug: str) -> Entry:
        team, _ = Team.objects.get_or_create(slug=slug, defaults={"name": slug.title(), "created_at": clock.now()})
        return Entry.objects.get_or_create(
            team=team, defaults={"competition": self.competition, "joined_at": clock.now()}
        )[0]

    def submission(self, slug: str, kind: str, number: int, *, licence: str = "MIT") -> Submission:
        """Create a ready submission of the team `slug`, with player `number` of the track."""
        repository, _ = Repository.objects.get_or_create(
            entry=self.entry(slug), track=self.tracks[kind], defaults={"created_at": clock.now()}
        )
        made = self._new_submission(f"{slug} {number}", repository, self.player(kind, number), licence)
        made.save()
        return made

    def field(self, models: int, untargeted: int, targeted: int = 0) -> None:
        """Create one team per player; better ones enter later, so that the order gives no advantage."""
        now = clock.now()
        wanted = [
            (f"{kind[:2]}-{number}", kind, number)
            for kind, most in (("model", models), ("untargeted", untargeted), ("targeted", targeted))
            for number in reversed(range(most))
        ]
        if Team.objects.filter(slug__in=[slug for slug, _, _ in wanted]).exists():  # a larger field of the same teams
            for slug, kind, number in wanted:
                self.submission(slug, kind, number)
            return
        teams = [Team.objects.create(slug=slug, name=slug.title(), created_at=now) for slug, _, _ in wanted]
        entries = Entry.objects.bulk_create(
            Entry(team=team, competition=self.competition, joined_at=now) for team in teams
        )
        repositories = Repository.objects.bulk_create(
            Repository(entry=entry, track=self.tracks[kind], created_at=now)
            for entry, (_, kind, _) in zip(entries, wanted, strict=True)
        )
        digests = [digest_of(kind, number) for _, kind, number in wanted]
        Player.objects.bulk_create(
            (self._new_player(kind, number) for _, kind, number in wanted), ignore_conflicts=True
        )
        players = {
            player.digest: player for player in Player.objects.filter(competition=self.competition, digest__in=digests)
        }
        Submission.objects.bulk_create(
            self._new_submission(f"{slug} {number}", repository, players[digest])
            for (slug, _, number), repository, digest in zip(wanted, repositories, digests, strict=True)
        )

    def _new_player(self, kind: str, number: int, baseline: str = "constant") -> Player:
        return Player(
            competition=self.competition,
            track_name=kind,
            digest=digest_of(kind, number),
            title=f"{kind} {number}",
            command=["python", "main.py"],
            baseline=baseline,
            created_at=clock.now(),
        )

    def _new_submission(self, title: str, repository: Repository, player: Player, licence: str = "MIT") -> Submission:
        serial, now = next(self.numbers), clock.now()
        return Submission(
            repository=repository,
            commit=f"{serial:040x}",
            tag=f"submission-{serial}",
            submitted_by=self.organiser,
            received_at=now,
            title=title,
            licence=licence,
            state=Submission.State.READY,
            state_since=now,
            player=player,
        )

    def plan(
        self,
        kind: str = "development",
        *,
        samples: int = 16,
        schedule: str = "ladder",
        title: str = "R",
        source: str = "",
        day: int = 0,
    ) -> Round:
        """Plan a round with a window of ten hours that begins in an hour, after `day` days."""
        return plan_round(
            competition=self.competition,
            title=title,
            kind=kind,
            schedule=schedule,
            guard=False,
            source=self.sources[source or ("final" if kind == "final" else "test")],
            samples=samples,
            starts_at=clock.now() + timedelta(days=day, hours=1),
            ends_at=clock.now() + timedelta(days=day, hours=11),
            by=self.organiser,
        )

    def begin(self, round_: Round) -> Round:
        """Freeze and start it, in its window."""
        self.clock.at = max(self.clock.at, round_.window.starts_at)
        freeze(round_=round_, by=self.organiser)
        lifecycle.start(round_=round_, by=self.organiser)
        return round_

    def worker(self, name: str = "arena-1/play/0", worker_class: str = "cpu") -> Worker:
        now = clock.now()
        defaults = {"worker_class": worker_class, "started_at": now, "last_seen_at": now}
        return Worker.objects.get_or_create(name=name, defaults=defaults)[0]

    def most(self, sample_set: SampleSet) -> tuple[float, ...]:
        """The worst case of each sample."""
        if sample_set.digest not in self.known:
            self.known[sample_set.digest] = worst_cases(sample_set)
        return self.known[sample_set.digest]

    def played(self, claim: Claim) -> PlayedPiece:
        """Return the piece's results from the matrix."""
        piece, match = claim.piece, claim.piece.match
        rows = []
        for sample in range(piece.first, piece.first + piece.count):
            most = self.most(match.sample_set)[sample]
            distance = min(self.distance(match.model.digest, match.attack.digest, sample), most)
            outcome = Outcome.ADVERSARIAL if distance < most else Outcome.FAILED
            rows.append(RefereedSample(sample, 0, None, outcome, distance, most, 10, 0.5, None))
        return PlayedPiece(
            tuple(rows), seconds=0.5 * piece.count, audit=AuditReport(), failures=[], artefact=object_store.put(BYTES)
        )

    def play(self, worker: Worker | None = None) -> int:
        """Play all waiting pieces; return how many."""
        if Piece.objects.filter(state=Piece.State.WAITING).count() > 100:
            with connection.cursor() as cursor:
                # PostgreSQL may have statistics of the empty tables, and then plans badly for hundreds of rows
                cursor.execute("ANALYZE")
        return play_waiting(worker or self.worker(), self.played)

    def run(self, round_: Round) -> Round:
        """Advance and play the round until it ends or stops."""
        advance_round(round_)
        while self.play():
            advance_round(round_)
        round_.refresh_from_db()
        return round_

    def scored(self, round_: Round) -> Round:
        """Freeze, start and play it to its end."""
        return self.run(self.begin(round_))

    def pool(self, kind: str) -> list[str]:
        """Return the titles of the pool in force."""
        pool = self.tracks[kind].pools.order_by("-number").first()
        return [place.player.title for place in pool.places.select_related("player")] if pool else []


@pytest.fixture(autouse=True)
def notifications(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tasks that were notified; there is no broker."""
    sent: list[str] = []
    monkeypatch.setattr(worker_notifications, "notify", lambda task, **keys: sent.append(task))
    return sent


@pytest.fixture(autouse=True)
def site_salts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """The site's own salt function; tests use one fixed salt, so that samples have one order."""
    own = commitment_salts.new_salt
    monkeypatch.setattr(commitment_salts, "new_salt", lambda: SALT)
    return own


@pytest.fixture
def env(
    competition: Competition, tracks: dict[str, Track], olga: User, rules: RulesVersion, the_clock: FakeClock
) -> RoundFixture:
    """The competition with twice 40 secret samples for rounds and 24 for the final, without entries."""
    values = {**rules.values, "piece_samples": 64}
    second = RulesVersion.objects.create(
        competition=competition, version=2, values=values, created_at=competition.created_at
    )
    sources = {}
    for name, split, samples in (
        ("test", "test-1", 40),
        ("test-2", "test-2", 40),
        ("final", "final", 24),
        ("validation", "validation", 6),
    ):
        digest, class_names = keep_samples(
            source="digits", split=split, count=samples, target_seed=7, rules=second.rules_as(QueryRules)
        )
        sources[name] = SampleSet.objects.create(
            competition=competition,
            name=name,
            purpose=name.removesuffix("-2"),
            source="digits",
            split=split,
            count=samples,
            target_seed=7,
            digest=digest,
            class_names=list(class_names),
            imported_at=competition.created_at,
        )
    return RoundFixture(competition, tracks, olga, sources, the_clock)
