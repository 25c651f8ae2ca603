"""The rules and the track of the curves format."""

from __future__ import annotations

from typing import Any

from competitions.formats import WithoutBaselines, WithoutOpponent
from competitions.rule_texts import RuleText
from competitions.rules import LEAST_ACCURACY
from competitions.rules_reader import RuleKind, RulesReader
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from formats.curves.listed_attacks import check_attacks
from formats.curves.repeated_benchmarks import repeated_benchmarks
from formats.curves.season_costs import season_costs, season_quantities
from formats.curves.tracks import TRACKS

_DISTANCE, _SECONDS = "of images from 0 to 1", "seconds of the reference machine"


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
        _rules,
        site_values={LEAST_ACCURACY: 0.5},
        kinds={"attacks": RuleKind(_tables, columns=("name", "goal", "norm", "queries"))},
        texts={
            "attacks": RuleText(
                "Attacks",
                "The attacks that benchmark every submission; rounds rank by the threat model of the first one.",
                "name, goal, norm, queries for an image or iterations",
            ),
            "budget_linf": RuleText(
                "Budget in L-inf", "The largest distance at which leaderboards compare accuracies.", _DISTANCE
            ),
            "budget_l2": RuleText(
                "Budget in L2", "The largest distance at which leaderboards compare accuracies.", _DISTANCE
            ),
            "setup_seconds": RuleText("Time to start", "How long a model may take until it is ready.", _SECONDS),
            "model_seconds_per_image": RuleText(
                "Time of a model for an image", "How long a model may take for each image.", _SECONDS
            ),
        },
    )
    without_baselines = "Its leaderboard is empty until a model is benchmarked."
    repeated_work = staticmethod(repeated_benchmarks)
    season_quantities = staticmethod(season_quantities)
    season_costs = staticmethod(season_costs)
