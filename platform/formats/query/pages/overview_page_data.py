"""What the overview of a competition shows in the query format: the pools, and links to matrix and curves."""

from __future__ import annotations

from django.urls import reverse

from competitions.models import Competition
from formats.query.leaderboards.models import Pool
from formats.query.tracks import MODEL, UNTARGETED
from pages.formats import Content, Overview
from pages.player_names import names_of


def overview(competition: Competition) -> Overview:
    """Return the pools in force, and links to what they give."""
    in_force = _pools(competition)
    names = names_of(place.player_id for pool in in_force for place in pool.places.all())
    has_baselines = not in_force and any(track.baselines for track in competition.tracks.all())
    links = [
        (reverse("pages:matrix", args=[competition.slug, UNTARGETED]), "Matrix of models and attacks"),
        (reverse("pages:curves", args=[competition.slug, MODEL]), "Curves"),
    ]
    return Overview(
        links=links if in_force else (),
        opponents=Content(
            template="formats/query/parts/pools.html",
            context={"pools": in_force, "players": names, "has_baselines": has_baselines},
        ),
    )


def _pools(competition: Competition) -> list[Pool]:
    """Return the pool in force of each track that has one, with its players."""
    newest: dict[int, Pool] = {}
    made = Pool.objects.filter(track__competition=competition).select_related("track").order_by("track", "number")
    for pool in made.prefetch_related("places__player"):
        newest[pool.track_id] = pool
    return list(newest.values())
