"""A round written directly into the database, without workers. Import only after Django is set up."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import Team, User
from bench.interleaved import say
from bench.synthetic_results import QUERIES, SAMPLES, SIDES, digest, row
from competitions.models import Competition, Entry, Organiser
from competitions.sample_store import worst_cases
from competitions.services import import_competition
from core import clock
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.rounds.cost_estimate import estimate
from formats.query.rounds.engine_adapter import facts_of
from formats.query.rounds.models import Decision, RoundMatch, RoundStage
from formats.query.rounds.planning import RoundSchedule
from formats.query.rounds.round_advancement import advance_round
from repositories.models import Repository
from rounds import services
from rounds.models import Round, RoundEntry
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.publishing.publication import publish
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


def begin() -> Round:
    """Create, freeze and start a final of `SIDES`, with one team for each player."""
    now = clock.now()
    competition = import_competition(_document())
    organiser = User.objects.create(username="organiser")
    Organiser.objects.create(competition=competition, user=organiser)
    for kind, count in SIDES.items():
        _enter(competition, kind, count, organiser)
    round_ = plan_round(
        competition=competition,
        title="The final",
        kind=Round.Kind.FINAL,
        schedule=RoundSchedule.LADDER,
        guard=False,
        source=competition.sample_sets.get(purpose="final"),
        samples=SAMPLES,
        starts_at=now,
        ends_at=now + timedelta(days=1),
        by=organiser,
    )
    freeze(round_=round_, by=organiser)
    services.start(round_=round_, by=organiser)
    return round_


def play_to_the_end(round_: Round) -> list[Step]:
    """Advance the round until it is scored, writing results in between, and publish it; return each step's cost."""
    steps: list[Step] = []
    while round_.state == Round.State.PLAYING:
        say(f"rounds: step {len(steps) + 1} on the database")
        begun = time.perf_counter()
        facts = facts_of(round_)
        reading = time.perf_counter() - begun
        queries: list[str] = []
        with connection.execute_wrapper(partial(_note, queries)):
            begun = time.perf_counter()
            advance_round(round_)
            seconds = time.perf_counter() - begun
        triples = sum(map(len, facts.results.values()))
        steps.append(Step(triples, _fill(round_), seconds, reading, len(queries)))
        round_.refresh_from_db()
    publish(round_=round_, by=User.objects.get(), reason="measured")
    # a live database analyses its tables while it grows
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return steps


def row_counts(round_: Round) -> list[tuple[str, int, int | None]]:
    """Return for each table the round's number of rows, and its bound where known."""
    models, *attacks = SIDES.values()
    return [
        ("results of samples", SampleResult.objects.count(), estimate(round_).triples_most),
        ("pieces", Piece.objects.count(), None),
        ("matches", Match.objects.count(), models * sum(attacks)),
        ("matches of the round", RoundMatch.objects.count(), models * sum(attacks)),
        ("entries", RoundEntry.objects.count(), sum(SIDES.values())),
        ("stages", RoundStage.objects.count(), None),
        ("decisions", Decision.objects.count(), None),
    ]


def get(client: Client, address: str) -> None:
    """Request a page as a visitor."""
    response = client.get(address)
    if response.status_code != 200:
        raise RuntimeError(f"{address} answers {response.status_code}")


def _note(queries: list[str], execute: Any, sql: str, *rest: Any) -> Any:
    queries.append(sql)
    return execute(sql, *rest)


def _fill(round_: Round) -> int:
    """Write the results that workers would write for all waiting pieces; return the number of pairs."""
    worst = worst_cases(round_.sample_set)
    pieces = Piece.objects.filter(match__round_match__round=round_, state=Piece.State.WAITING)
    rows = [
        _result(piece, sample, worst[sample])
        for piece in pieces.select_related("match__model", "match__attack")
        for sample in range(piece.first, piece.first + piece.count)
    ]
    SampleResult.objects.bulk_create(rows, batch_size=5000)
    pieces.update(state=Piece.State.PLAYED, played_at=clock.now(), seconds=1.0, worker_class="cpu", calibration=1.0)
    waiting = Match.objects.filter(state__in=[Match.State.WAITING, Match.State.PLAYING])
    return waiting.update(state=Match.State.PLAYED, finished_at=clock.now())


def _result(piece: Piece, sample: int, worst: float) -> SampleResult:
    ended = row(piece.match.model.digest, piece.match.attack.digest, sample)
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


def _document() -> dict[str, Any]:
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
        "tracks": {kind: {"title": kind.capitalize()} for kind in SIDES},
        "sample_sets": [
            {"name": name, "purpose": name, "source": "digits", "split": split, "count": count, "target_seed": 7}
            for name, split, count in (
                ("development", "dev", 10),
                ("validation", "validation", 20),
                ("final", "final", SAMPLES),
            )
        ],
    }
