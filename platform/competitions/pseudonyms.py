"""The public names of players. All that leaves the site calls a player by its pseudonym, never by its digest."""

from __future__ import annotations

from competitions.models import Competition
from evaluation.domain.pseudonyms import pseudonym


def public_name(competition: Competition, digest: str) -> str:
    """What the player with `digest` is called in public, in all rounds of a competition the same."""
    return pseudonym(bytes.fromhex(competition.seed_salt), digest)
