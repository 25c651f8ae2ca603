"""The bundled attacks keep nothing from one piece to the next, so the site lets one process play several pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType

import pytest

from evaluation.datasets.load import load_dataset
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.catalogue import Baseline, baselines
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.results import RefereedSample
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from gauntlet import serve_attack, serve_model

LoadMain = Callable[[str], ModuleType]

RULES = QueryRules(classes=10, query_budget=60, piece_samples=1)

# the others are the same programs with other weights, or with start images for a target
every_program = pytest.mark.parametrize(
    "baseline",
    [each for each in baselines() if each.track is not TrackName.MODEL and "main.py" not in each.parts],
    ids=lambda baseline: baseline.name,
)


@every_program
def test_rows_are_those_of_an_attack_that_was_just_started(
    load_main: LoadMain, loaded_main: LoadMain, baseline: Baseline
) -> None:
    """Each sample is once the first that an attack meets, and once the second."""
    predict = loaded_main("numpy-classifier").predict

    def play(samples: Sequence[Sample]) -> list[RefereedSample]:
        attack = load_main(baseline.name).attack
        match = RefereedMatch(
            rules=RULES,
            track=baseline.track,
            model=InProcessPlayer(lambda connected: serve_model(predict, connected=connected)),
            attack=InProcessPlayer(lambda connected: serve_attack(attack, connected=connected)),
            seed=3,
            fresh_audit=False,
            reuse_attack=True,
        )
        try:
            return [replace(row, seconds=0.0) for piece in match.play(samples) for row in piece.samples]
        finally:
            match.close()

    targets = [replace(one, target=(one.label + 1) % 10) for one in load_dataset("digits").samples("validation")[:2]]
    assert play(targets) == play(targets[::-1])[::-1]
