"""Competitions that were played on another site, and the names that their signed files have."""

from __future__ import annotations

from competitions.models import Competition, CompetitionOrigin, Entry
from core.errors import Refusal


def origin_of(competition: Competition) -> CompetitionOrigin | None:
    """Return the site on which an imported competition was played; None if it is this one."""
    return CompetitionOrigin.objects.filter(competition=competition.pk).first()


def require_played_here(competition: Competition) -> None:
    """Raise `Refusal` if the competition was imported from another site: it has no people and no workers here."""
    if (origin := origin_of(competition)) is not None:
        raise Refusal(
            f"{competition.title} was played on {origin.address} and imported, so it can only be read",
            fix="clone it, and play the copy",
        )


def signed_slug(competition: Competition) -> str:
    """Return the slug by which signed files name a competition: that of the site on which it was played."""
    origin = origin_of(competition)
    return origin.slug if origin is not None else competition.slug


def signed_team_slug(entry: Entry) -> str:
    """Return the slug by which signed files name a team: that of the site on which it played."""
    return entry.slug_of_origin or entry.team.slug
