"""The rules and tracks of the transfer format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from competitions.formats import WithoutOpponent
from competitions.rule_texts import RuleText
from competitions.rules import LEAST_ACCURACY
from competitions.rules_reader import RuleKind, Rules, RulesReader, one_of
from evaluation.formats.transfer.rules import Opponents, TransferRules
from formats.transfer.own_baseline_check import check_baseline
from formats.transfer.season_costs import season_costs, season_quantities
from formats.transfer.tournaments.repeated_tournament import repeated_tournament
from formats.transfer.tracks import TRACKS


def _are_epsilons(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(type(each) is int for each in value)


class TransferCompetition(WithoutOpponent):
    """See `competitions.formats.CompetitionFormat`."""

    title = "transfer: attacks send images, defences label them"
    tracks = TRACKS
    rules = RulesReader(
        TransferRules,
        site_values={LEAST_ACCURACY: 0.0},  # the competition of 2017 asked for nothing
        kinds={
            "epsilons": RuleKind(_are_epsilons, tuple),
            "epsilon_order": one_of("cycled", "drawn"),
            "opponents": one_of(*Opponents, read=Opponents),
        },
        texts={
            "batch_images": RuleText("Images in a batch", "The most images that a submission gets in one run."),
            "batch_seconds": RuleText(
                "Time for a batch",
                "How long a submission may take for a batch; what it wrote before the limit counts.",
                "seconds of the reference machine",
            ),
            "epsilons": RuleText(
                "Epsilons", "The largest changes of a value, of which each batch has one.", "levels of 0 to 255"
            ),
            "epsilon_order": RuleText(
                "Order of the epsilons", "Whether batches have the epsilons in turn (cycled) or at random (drawn)."
            ),
            "opponents": RuleText(
                "Opponents",
                "Which opponents a score counts: all, by the share of images that they processed (coverage), or only "
                "those that processed every image (complete).",
            ),
            "result_bytes": RuleText(
                "Size of a result file", "The largest result file of a defence; a larger one is ignored.", "bytes"
            ),
        },
    )
    without_baselines = "Its leaderboard is empty until a submission is ready."
    repeated_work = staticmethod(repeated_tournament)
    season_quantities = staticmethod(season_quantities)
    season_costs = staticmethod(season_costs)

    def check_baseline(self, track_name: str, source: Path, rules: Rules) -> None:
        check_baseline(track_name, source)
