"""The site of `bench.whole_site`. Import only after Django is set up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Sum

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition, RulesVersion, Track
from competitions.services import enter, import_competition
from core import clock
from demo.git_push import TAG, push_copy
from demo.virtual_teams import Change
from evaluation.formats.query.catalogue import find_baseline
from formats.query.matches.match_requests import request_matches
from formats.query.matches.models import Match
from formats.query.matches.player_builds import baseline_player, build
from repositories.git_reader import GitReader
from repositories.services import repository_of
from submissions.models import Player, Submission


def begin(samples: int, piece_samples: int, queries: int) -> Competition:
    """Create a competition with one sample set of `samples`."""
    now = clock.now()
    sets = (("development", "dev", 10), ("validation", "validation", samples))
    return import_competition(
        {
            "competition": {
                "slug": "bench",
                "title": "Bench",
                "starts_at": now - timedelta(days=1),
                "ends_at": now + timedelta(days=30),
                "public": True,
            },
            "rules": {
                "shape": [64, 64, 3],
                "classes": 10,
                "query_budget": queries,
                "piece_samples": piece_samples,
                "attack_seconds_per_sample": 900,
            },
            "tracks": {name: {"title": name} for name in ("model", "untargeted", "targeted")},
            "sample_sets": [
                {"name": name, "purpose": name, "source": "digits", "split": split, "count": count, "target_seed": 7}
                for name, split, count in sets
            ],
        }
    )


def repeated_player(competition: Competition, name: str, answer: str, times: int) -> Player:
    """Submit a copy of the bundled model `name` that computes its `answer` so many times; return its player."""
    captain, now = User.objects.create_user("bench"), clock.now()
    entry = enter(team=create_team(slug="bench", name="Bench", captain=captain), competition=competition)
    repository = repository_of(entry=entry, track=Track.objects.get(competition=competition, name="model"))
    repeated = Change("main.py", f"return {answer}", f"return [{answer} for _ in range({times})][0]")
    push_copy(name, str(repository.path), author="bench", changes=(repeated,))
    with GitReader(repository.path) as reader:
        commit = reader.resolve(f"refs/tags/{TAG}") or ""
    state = {"state": Submission.State.READY, "state_since": now}
    submission = Submission.objects.create(
        repository=repository, commit=commit, tag=TAG, submitted_by=captain, received_at=now, **state
    )
    return build(submission, lambda line: None)


def bundled_player(competition: Competition, name: str) -> Player:
    """Return the player of the bundled submission `name`."""
    return baseline_player(competition.tracks.get(name=find_baseline(name).track), name, lambda line: None)


def new_match(competition: Competition, model: Player, attack: str) -> Match:
    """Create the match of a model and a bundled attack, as if it was never played."""
    Match.objects.all().delete()
    sample_set = competition.sample_sets.get(purpose="validation")
    rules = RulesVersion.objects.get(competition=competition)
    (match,) = request_matches(
        rules=rules, sample_set=sample_set, pairs=[(model, bundled_player(competition, attack))], upto=sample_set.count
    )
    return match


def played(match: Match) -> list[Any]:
    """Return the pieces of a played match with the number of `images` that their models classified in play."""
    match.refresh_from_db()
    pieces: list[Any] = list(match.pieces.annotate(images=Sum("sample_results__queries")))
    failures = [failure for piece in pieces for failure in piece.failures]
    if match.state != Match.State.PLAYED or failures:
        raise RuntimeError(f"the match was not played: {match.state} {match.fault} {failures}")
    return pieces
