"""The site of `bench.platform`. Import only after Django is set up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Sum

from competitions.models import Competition, RulesVersion
from competitions.services import import_competition
from core import clock
from matches.models import Match
from matches.scheduling import ensure_match
from submissions.player_builds import baseline_player


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


def new_match(competition: Competition, model: str, attack: str) -> Match:
    """Create the match of two bundled players, as if it was never played."""
    Match.objects.all().delete()
    players: list[Any] = [baseline_player(competition, name, lambda line: None) for name in (model, attack)]
    return ensure_match(
        rules=RulesVersion.objects.get(competition=competition),
        sample_set=competition.sample_sets.get(purpose="validation"),
        model=players[0],
        attack=players[1],
    )


def played(match: Match) -> list[Any]:
    """Return the pieces of a played match with the number of `images` that their models classified in play."""
    match.refresh_from_db()
    pieces: list[Any] = list(match.pieces.annotate(images=Sum("sample_results__queries")))
    failures = [failure for piece in pieces for failure in piece.failures]
    if match.state != Match.State.PLAYED or failures:
        raise RuntimeError(f"the match was not played: {match.state} {match.fault} {failures}")
    return pieces
