"""The rules and the track of the curves format."""

from __future__ import annotations

from typing import Any

from competitions.formats import WithoutBaselines, WithoutOpponent
from competitions.rules import LEAST_ACCURACY
from competitions.rules_reader import RuleKind, RulesReader
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from formats.curves.listed_attacks import check_attacks
from formats.curves.tracks import TRACKS


def _rules(**values: Any) -> CurvesRules:
    """Return the rules; raise `ValueError` for attacks that cannot be run."""
    if "attacks" in values:
        values["attacks"] = tuple(map(ListedAttack.read, values["attacks"]))
    rules = CurvesRules(**values)
    if "attacks" in values:
        check_attacks(rules)
    return rules


def _tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(each, dict) for each in value)


class CurvesCompetition(WithoutOpponent, WithoutBaselines):
    """See `competitions.formats.CompetitionFormat`."""

    title = "curves: released models are benchmarked"
    tracks = TRACKS
    rules: RulesReader[CurvesRules] = RulesReader(
        _rules, site_values={LEAST_ACCURACY: 0.5}, kinds={"attacks": RuleKind(_tables)}
    )
    without_baselines = "Its leaderboard is empty until a model is benchmarked."
