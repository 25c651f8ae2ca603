from __future__ import annotations

import math
from dataclasses import replace
from pathlib import PurePosixPath

from evaluation.formats.curves.report.robustbench_model_cards import model_cards
from tests.evaluation.formats.curves.results_of import results_of


def test_a_run_of_autoattack_gets_a_card_with_its_accuracies_and_budget() -> None:
    traces = [[math.inf, 0.02], [math.inf, math.inf], [math.inf, math.inf], [0.0, 0.0]]
    right = [True, True, True, False]
    ensemble = results_of(
        [0.02, math.inf, math.inf, 0.0], attack="autoattack", right=right, traces=traces, tried=[[]] * 4
    )
    ensemble = replace(ensemble, fixed_budget=8 / 255, parameters={"seed": 3, "passes": 2})
    cards = model_cards([ensemble, results_of([0.05])], {})
    (card,) = cards.values()
    assert list(cards) == [PurePosixPath("model_info/test/Linf/model.json")]
    assert card["eps"] == "8/255"
    assert card["clean_acc"] == "75.00"
    assert card["autoattack_acc"] == "50.00"
    assert card["number_forward_passes"] == 2
    assert "4 images" in str(card["footnote"])


def test_a_card_is_called_unreliable_where_the_model_is_suspect() -> None:
    ensemble = results_of([math.inf], attack="autoattack", traces=[[math.inf, math.inf]], tried=[[]])
    (plain,), (warned,) = (model_cards([ensemble], each).values() for each in ({}, {"model": ["it is random"]}))
    assert plain["unreliable"] is False
    assert warned["unreliable"] is True
