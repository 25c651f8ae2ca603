"""A round whose players are called otherwise: what they are called outside is not what they are played by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from evaluation.tournament.rounds import RoundFacts

Name = Callable[[str], str]
"""The new name of a player; two players never get the same."""

_Value = TypeVar("_Value")


def rename_facts(facts: RoundFacts, name: Name) -> RoundFacts:
    """The same round with other names of its players: the same follows from it, as no name decides anything."""
    return replace(
        facts,
        entrants=tuple(replace(entrant, player=name(entrant.player)) for entrant in facts.entrants),
        priors={track: tuple(map(name, players)) for track, players in facts.priors.items()},
        results=rename_pairs(facts.results, name),
        failed_audits=rename_pairs(facts.failed_audits, name),
        kept=rename_players(facts.kept, name),
    )


def rename_players(of: Mapping[str, _Value], name: Name) -> dict[str, _Value]:
    """What is keyed by players, keyed by their new names."""
    return {name(player): value for player, value in of.items()}


def rename_pairs(of: Mapping[tuple[str, str], _Value], name: Name) -> dict[tuple[str, str], _Value]:
    """What is keyed by (model, attack), keyed by their new names."""
    return {(name(model), name(attack)): value for (model, attack), value in of.items()}
