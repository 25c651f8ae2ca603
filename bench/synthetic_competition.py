"""A competition with a large leaderboard, written directly into the database. Import only after Django is set up."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
from django.db import connection

from accounts.models import Team, User
from competitions.models import Competition, Entry, RulesVersion, SampleSet, Track
from core import clock
from evaluation.scoring.bootstrap_constants import RESAMPLES
from formats.query.leaderboards.models import Evaluation, Pool, PoolPlace, Resamples
from formats.query.leaderboards.ranking import COMPARED
from formats.query.tracks import MODEL, TRACKS, UNTARGETED
from repositories.models import Repository
from submissions.models import Player, Submission


def make_competition(slug: str) -> Competition:
    """Create a public competition with its three tracks, rules and validation set (only the row of the set)."""
    now = clock.now()
    competition = Competition.objects.create(
        slug=slug,
        title="Bench",
        starts_at=now - timedelta(days=1),
        ends_at=now + timedelta(days=30),
        public=True,
        created_at=now,
    )
    for track in TRACKS:
        Track.objects.create(competition=competition, name=track.name, title=track.title.capitalize())
    RulesVersion.objects.create(competition=competition, version=1, values={}, created_at=now)
    SampleSet.objects.create(
        competition=competition,
        name="validation",
        purpose=SampleSet.Purpose.VALIDATION,
        source="digits",
        split="validation",
        count=200,
        target_seed=0,
        imported_at=now,
    )
    return competition


def make_pool(competition: Competition) -> Pool:
    """Create a pool of two untargeted attacks."""
    now = clock.now()
    track = competition.tracks.get(name=UNTARGETED)
    pool = Pool.objects.create(track=track, number=1, made_at=now, reason="the bench")
    for place in (1, 2):
        PoolPlace.objects.create(pool=pool, place=place, player=make_player(competition, UNTARGETED, f"attack {place}"))
    return pool


def make_player(competition: Competition, kind: str, title: str) -> Player:
    """Create a player that cannot be started."""
    return Player.objects.create(
        competition=competition,
        track_name=kind,
        digest=f"sha256:{title}",
        title=title,
        command=["true"],
        baseline=title,
        created_at=clock.now(),
    )


def fill(competition: Competition, pool: Pool, teams: int) -> None:
    """Create `teams` teams with one scored model each, all scores different. Standings are not created."""
    track = competition.tracks.get(name=MODEL)
    player = make_player(competition, MODEL, "everybody's model")
    submissions = make_submissions(make_entries(competition, track, teams), player, 1, clock.now())
    score(submissions, pool, first=1)
    # a live database analyses its tables while it grows; without statistics it would join them row by row
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def make_entries(competition: Competition, track: Track, teams: int, *, prefix: str = "team-") -> list[Repository]:
    """Create `teams` teams in a competition; return their repositories of a track."""
    now = clock.now()
    names = Team.objects.bulk_create(
        Team(slug=slug, name=slug, slug_skeleton=slug, name_skeleton=slug, created_at=now)
        for slug in (f"{prefix}{number}" for number in range(teams))
    )
    entries = Entry.objects.bulk_create(Entry(team=team, competition=competition, joined_at=now) for team in names)
    return Repository.objects.bulk_create(Repository(entry=entry, track=track, created_at=now) for entry in entries)


def make_submissions(
    repositories: list[Repository], player: Player | None, number: int, at: datetime
) -> list[Submission]:
    """Create a ready submission of each repository, its `number`th, received at `at`."""
    person, _ = User.objects.get_or_create(username="everybody")
    return Submission.objects.bulk_create(
        Submission(
            repository=repository,
            commit=f"{number:040x}",
            tag=f"submission-{number}",
            submitted_by=person,
            received_at=at,
            title=f"Model {number}",
            licence="MIT",
            state=Submission.State.READY,
            state_since=at,
            player=player,
        )
        for repository in repositories
    )


def score(submissions: list[Submission], pool: Pool, *, first: int) -> None:
    """Create a scored evaluation for each of `submissions`, with the scores `first`, `first` + 1 and so on.

    Only those that a leaderboard compares have resamples, which would otherwise fill the disk.
    """
    now, competition = clock.now(), pool.track.competition
    rules, sample_set = competition.rules_versions.get(), competition.sample_sets.get(purpose="validation")
    opponent = pool.players.first()
    made = Evaluation.objects.bulk_create(
        Evaluation(
            submission=submission,
            pool=pool,
            sample_set=sample_set,
            rules=rules,
            state=Evaluation.State.SCORED,
            created_at=now,
            finished_at=now,
            value=value,
            low=value - 0.5,
            high=value + 0.5,
            samples=200,
            failures=3,
            met=2,
            held=1,
            clean_wrong=7,
            worst_opponent=opponent,
            median_seconds=1.5,
        )
        for value, submission in enumerate(submissions, start=first)
    )
    random = np.random.default_rng(0)
    Resamples.objects.bulk_create(
        Resamples(evaluation=each, medians=(each.value + random.normal(size=RESAMPLES)).astype("<f8").tobytes())
        for each in made[-2 * COMPARED :]
        if each.value is not None
    )
