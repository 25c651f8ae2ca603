"""The rules and tracks of the transfer format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_noop

from competitions.formats import TrackSide, TrackSpec
from competitions.models import Competition
from competitions.rules import LEAST_ACCURACY
from competitions.rules_reader import RuleKind, RulesReader
from core.errors import Refusal
from evaluation.formats.transfer.rules import Opponents, TransferRules, TransferTrack


def _are_epsilons(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(type(each) is int for each in value)


class TransferCompetition:
    """See `competitions.formats.CompetitionFormat`."""

    title = gettext_noop("transfer: attacks send images, defences label them")
    tracks = (
        TrackSpec(TransferTrack.ATTACK.value, gettext_noop("attack"), TrackSide.ATTACK),
        TrackSpec(TransferTrack.TARGETED_ATTACK.value, gettext_noop("targeted attack"), TrackSide.ATTACK),
        TrackSpec(TransferTrack.DEFENCE.value, gettext_noop("defence"), TrackSide.DEFENCE),
    )
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

    def keep_opponent(self, name: str) -> str:
        raise Refusal("no smoke test of the transfer format has an opponent", fix="remove the line")

    def smoke_test_notes(self, competition: Competition) -> Iterator[str]:
        yield from ()
