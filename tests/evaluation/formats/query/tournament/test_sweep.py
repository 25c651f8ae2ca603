"""The attacks that the sweep warns of, in a small last stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.schedule_output import OrderedBy, Plan, ScheduleResult, Stage, StageDecision
from evaluation.formats.query.tournament.warning_sweep import Warned, swept, warnings


def test_it_warns_of_finalists_that_do_not_count_as_of_those_that_were_cut(make_field: Any) -> None:
    # one model, ten samples; a0 counts, a1 to a3 are finalists that do not, a4 was cut and played eight samples
    field = make_field((1, 5, 10), model_teams=[1], attack_teams=[2, 3, 4, 1, 5])
    names = ("a0", "a1", "a2", "a3")
    decisions = tuple(StageDecision(Side.ATTACK, name, place, 1.0, True, None) for place, name in enumerate(names, 1))
    last = Stage(1, 10, OrderedBy.MEDIAN, ("m0",), names, ("m0",), ("a0",), 1, renewed=False, decisions=decisions)
    plan = Plan((last,), (), result=ScheduleResult(("m0",), (*names, "a4")))
    played = np.full((1, 5, 10), 2.0)
    played[0, 1, :5] = 1.0
    played[0, 2, :4] = played[0, 2, 8:] = 1.0  # half of the first eight: not more than half
    played[0, 3, :5] = 1.0  # of the model's own team
    played[0, 4] = [1.0] * 8 + [np.nan] * 2
    assert swept(field, plan) == [(0, 4)]
    assert warnings(field, plan, played) == (
        Warned("m0", "a1", 5, 8, 1.0),
        Warned("m0", "a3", 5, 8, 1.0),
        Warned("m0", "a4", 8, 8, 1.0),
    )
