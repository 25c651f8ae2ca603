"""Pseudonyms of players. Everything published uses the pseudonym of a player, never its digest."""

from __future__ import annotations

from competitions.models import Competition
from evaluation.domain.pseudonyms import pseudonym


def public_name(competition: Competition, digest: str) -> str:
    """Return the pseudonym of the player with `digest`, the same in all rounds of a competition."""
    return pseudonym(bytes.fromhex(competition.seed_salt), digest)
