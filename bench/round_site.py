"""A round written directly into the database, without workers. Import only after Django is set up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import Team, User
from bench.interleaved import say
from bench.pages import QueryCounter, processor_seconds
from bench.synthetic_results import QUERIES, Field, digest
from bench.tables import analyse
from competitions.models import Competition, Entry, Organiser
from competitions.sample_store import worst_cases
from competitions.services import import_competition
from core import clock
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.rounds.cost_estimate import estimate
from formats.query.rounds.models import Decision, RoundMatch, RoundStage
from formats.query.rounds.planning import RoundSchedule
from formats.query.rounds.round_advancement import advance_round
from formats.query.rounds.round_as_engine_values import facts_of
from repositories.models import Repository
from rounds.models import Round, RoundEntry
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.running import lifecycle
from submissions.models import Player, Submission

SLUG = "bench"
PAGE = reverse("pages:round", args=[SLUG, 1])
SMALL = reverse("pages:rules", args=[SLUG])


@dataclass(frozen=True)
class Step:
    """One step of a round's progress: its number of triples and pairs, its duration, and the time that reading the
    round's rows takes alone."""

    triples: int
    asked: int
    seconds: float
    reading: float
    queries: int


def make_competition(field: Field) -> Competition:
    """Create a competition of `field`, with one team for each player."""
    competition = import_competition(_document(field))
    participant = User.objects.create(username="participant")
    for kind, count in field.sides.items():
        _enter(competition, kind, count, participant)
    return competition


def organiser_of(competition: Competition) -> User:
    """Return the organiser of a competition, appointed where it has none."""
    organiser, _ = User.objects.get_or_create(username="organiser", is_staff=True)
    Organiser.objects.get_or_create(competition=competition, user=organiser)
    return organiser


def plan(competition: Competition, schedule: str, organiser: User) -> Round:
    """Plan the final of a competition, with a window that begins now."""
    source, now = competition.sample_sets.get(purpose="final"), clock.now()
    return plan_round(
        competition=competition,
        title="The final",
        kind=Round.Kind.FINAL,
        schedule=schedule,
        guard=False,
        source=source,
        samples=source.count,
        starts_at=now,
        ends_at=now + timedelta(days=1),
        by=organiser,
    )


def begin(field: Field) -> Round:
    """Create, freeze and start a final of `field` on the ladder."""
    competition = make_competition(field)
    organiser = organiser_of(competition)
    round_ = plan(competition, RoundSchedule.LADDER, organiser)
    freeze(round_=round_, by=organiser)
    lifecycle.start(round_=round_, by=organiser)
    return round_


def play_to_the_end(round_: Round, field: Field) -> Iterator[Step]:
    """Advance the round until it is scored, writing results in between; yield each step's cost."""
    while round_.state == Round.State.PLAYING:
        begun = processor_seconds()
        facts = facts_of(round_)
        reading = processor_seconds() - begun
        counter = QueryCounter()
        with connection.execute_wrapper(counter):
            begun = processor_seconds()
            advance_round(round_)
            seconds = processor_seconds() - begun
        triples = sum(map(len, facts.results.values()))
        say(f"rounds: a step on the database after {triples:,} triples took {seconds:.1f} s")
        yield Step(triples, _fill(round_, field), seconds, reading, counter.queries)
        analyse()
        round_.refresh_from_db()


def row_counts(round_: Round, field: Field) -> list[tuple[str, int, int | None]]:
    """Return for each table the round's number of rows, and its bound where known."""
    pairs = field.models * (field.untargeted + field.targeted)
    return [
        ("results of samples", SampleResult.objects.count(), estimate(round_).triples_most),
        ("pieces", Piece.objects.count(), None),
        ("matches", Match.objects.count(), pairs),
        ("matches of the round", RoundMatch.objects.count(), pairs),
        ("entries", RoundEntry.objects.count(), sum(field.sides.values())),
        ("stages", RoundStage.objects.count(), None),
        ("decisions", Decision.objects.count(), None),
    ]


def get(client: Client, address: str) -> None:
    """Request a page as a visitor."""
    response = client.get(address)
    if response.status_code != 200:
        raise RuntimeError(f"{address} answers {response.status_code}")


def _fill(round_: Round, field: Field) -> int:
    """Write the results that workers would write for all waiting pieces; return the number of pairs."""
    worst = worst_cases(round_.sample_set)
    pieces = Piece.objects.filter(match__round_match__round=round_, state=Piece.State.WAITING)
    rows = [
        _result(field, piece, sample, worst[sample])
        for piece in pieces.select_related("match__model", "match__attack")
        for sample in range(piece.first, piece.first + piece.count)
    ]
    SampleResult.objects.bulk_create(rows, batch_size=5000)
    pieces.update(state=Piece.State.PLAYED, played_at=clock.now(), seconds=1.0, worker_class="cpu", calibration=1.0)
    waiting = Match.objects.filter(state__in=[Match.State.WAITING, Match.State.PLAYING])
    return waiting.update(state=Match.State.PLAYED, finished_at=clock.now())


def _result(field: Field, piece: Piece, sample: int, worst: float) -> SampleResult:
    ended = field.row(piece.match.model.digest, piece.match.attack.digest, sample)
    return SampleResult(
        match=piece.match,
        piece=piece,
        sample=sample,
        outcome=ended.outcome,
        distance=ended.distance,
        worst_case=worst,
        queries=QUERIES,
        seconds=1.0,
    )


def _enter(competition: Competition, kind: str, count: int, by: User) -> None:
    now, track = clock.now(), competition.tracks.get(name=kind)
    names = [f"{kind}-{number}" for number in range(count)]
    teams = Team.objects.bulk_create(
        Team(slug=name, name=f"Team {name}", slug_skeleton=name, name_skeleton=name, created_at=now) for name in names
    )
    entries = Entry.objects.bulk_create(Entry(team=team, competition=competition, joined_at=now) for team in teams)
    repositories = Repository.objects.bulk_create(
        Repository(entry=entry, track=track, created_at=now) for entry in entries
    )
    players = Player.objects.bulk_create(
        Player(
            competition=competition,
            track_name=kind,
            digest=digest(kind, number),
            title=name,
            command=["true"],
            repository=repository,
            created_at=now,
        )
        for number, (name, repository) in enumerate(zip(names, repositories, strict=True))
    )
    Submission.objects.bulk_create(
        Submission(
            repository=player.repository,
            commit="0" * 40,
            tag="submission-1",
            submitted_by=by,
            received_at=now,
            title=player.title,
            licence="MIT",
            state=Submission.State.READY,
            state_since=now,
            player=player,
        )
        for player in players
    )


def _document(field: Field) -> dict[str, Any]:
    now = clock.now()
    return {
        "competition": {
            "slug": SLUG,
            "title": "Bench",
            "starts_at": now - timedelta(days=1),
            "ends_at": now + timedelta(days=30),
            "public": True,
        },
        "rules": {"shape": [64, 64, 3], "classes": 10, "query_budget": QUERIES},
        "tracks": {kind: {"title": kind.capitalize()} for kind in field.sides},
        "sample_sets": [
            {"name": name, "purpose": name, "source": "digits", "split": split, "count": count, "target_seed": 7}
            for name, split, count in (
                ("development", "dev", 10),
                ("validation", "validation", 20),
                ("final", "final", field.samples),
            )
        ],
    }
