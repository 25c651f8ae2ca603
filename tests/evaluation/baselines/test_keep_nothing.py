"""The bundled attacks keep nothing from one piece to the next, so the site lets one process play several pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.datasets.load import load_dataset
from evaluation.domain.images import ImageShape
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.catalogue import Baseline, baselines
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.results import RefereedSample
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from gauntlet import serve_attack, serve_model

LoadMain = Callable[[str], ModuleType]

RULES = QueryRules(classes=10, query_budget=40, piece_samples=1)

# the others are the same programs with other weights, or with start images for a target
every_program = pytest.mark.parametrize(
    "baseline",
    [each for each in baselines() if each.track is not TrackName.MODEL and "main.py" not in each.parts],
    ids=lambda baseline: baseline.name,
)


def shrink(images: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Return images (..., 64, 64, 3) with every second pixel of each row and column where `side` is 32."""
    step = 64 // side
    return np.ascontiguousarray(images[..., ::step, ::step, :])


@every_program
def test_rows_are_those_of_an_attack_that_was_just_started(
    load_main: LoadMain, loaded_main: LoadMain, baseline: Baseline
) -> None:
    """A sample has the same row when the attack met another one before it. Surrogates take small images, too."""
    side = 64 if "starts.npz" in baseline.parts else 32
    labels_of = loaded_main("numpy-classifier").predict

    def predict(images: NDArray[np.uint8]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = labels_of(images.repeat(64 // side, 1).repeat(64 // side, 2))
        return found

    def play(samples: Sequence[Sample]) -> list[RefereedSample]:
        attack = load_main(baseline.name).attack
        match = RefereedMatch(
            rules=replace(RULES, shape=ImageShape(side, side, 3)),
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

    samples = [
        replace(one, image=shrink(one.image, side), target=(one.label + 1) % 10)
        for one in load_dataset("digits").samples("validation")[:2]
    ]
    assert play(samples)[1:] == play(samples[1:])
