"""What the players of a round are called in its files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from competitions.pseudonyms import public_name
from rounds.models import Round


def name_in(round: Round) -> Callable[[str], str]:
    """Gives the public name of a player by its digest: the digest itself in a round that was committed to digests."""
    return str if round.names_are_digests else partial(public_name, round.competition)
