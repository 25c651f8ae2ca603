"""The rules and tracks of the transfer format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from competitions.formats import WithoutOpponent
from competitions.rules import LEAST_ACCURACY
from competitions.rules_reader import RuleKind, Rules, RulesReader
from evaluation.formats.transfer.rules import Opponents, TransferRules
from formats.transfer.own_baselines import check_baseline
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
            "epsilon_order": RuleKind(lambda value: value in ("cycled", "drawn")),
            "opponents": RuleKind(lambda value: value in list(Opponents), Opponents),
        },
    )
    without_baselines = "Its leaderboard is empty until a submission is ready."

    def check_baseline(self, track_name: str, source: Path, rules: Rules) -> None:
        check_baseline(track_name, source)
