"""Replacement of the names of a round's players, for publication."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from evaluation.formats.query.tournament.round_state import RoundFacts

Name = Callable[[str], str]
"""The function from a player to its new name; two players never get the same name."""

_Value = TypeVar("_Value")


def rename_facts(facts: RoundFacts, name: Name) -> RoundFacts:
    """Return the same round with other names of players: its outcome is the same, as names decide nothing."""
    return replace(
        facts,
        entrants=tuple(replace(entrant, player=name(entrant.player)) for entrant in facts.entrants),
        priors={track: tuple(map(name, players)) for track, players in facts.priors.items()},
        results=rename_pairs(facts.results, name),
        failed_audits=rename_pairs(facts.failed_audits, name),
        kept=rename_players(facts.kept, name),
    )


def rename_players(of: Mapping[str, _Value], name: Name) -> dict[str, _Value]:
    """Return a mapping keyed by players, keyed by their new names."""
    return {name(player): value for player, value in of.items()}


def rename_pairs(of: Mapping[tuple[str, str], _Value], name: Name) -> dict[tuple[str, str], _Value]:
    """Return a mapping keyed by (model, attack), keyed by their new names."""
    return {(name(model), name(attack)): value for (model, attack), value in of.items()}
