"""A check stops at the first answer that takes too long; a match starts the player again."""

from __future__ import annotations

import time

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from evaluation.protocol import model_time
from gauntlet import serve_attack, serve_model

SHAPE = ImageShape(4, 4, 3)
SAMPLES = [Sample(number, np.full(SHAPE, 40, np.uint8), 0) for number in range(4)]
SLOW = 0.3
"""Seconds for an answer of a model that has some milliseconds."""


@pytest.mark.parametrize(("stop", "answers", "pieces"), [(True, 1, 1), (False, 2, 2)])
def test_a_check_ends_with_the_piece_in_which_a_model_was_too_slow(
    monkeypatch: pytest.MonkeyPatch, stop: bool, answers: int, pieces: int
) -> None:
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", 0.01)
    monkeypatch.setattr(model_time, "CLOCK_FACTOR", 1)
    monkeypatch.setattr(model_time, "CLOCK_GRACE_FACTOR", 1)
    asked: list[int] = []

    def predict(images):  # type: ignore[no-untyped-def]
        asked.append(len(images))
        time.sleep(SLOW)
        return np.zeros(len(images), np.int64)

    match = RefereedMatch(
        rules=QueryRules(shape=SHAPE, classes=2, query_budget=5, piece_samples=2, model_seconds_per_image=0.01),
        track=TrackName.UNTARGETED,
        model=InProcessPlayer(lambda connected: serve_model(predict, connected=connected)),
        attack=InProcessPlayer(lambda connected: serve_attack(lambda *_, **__: None, connected=connected)),
        seed=1,
        fresh_audit=False,
        stop_at_limit=stop,
    )
    try:
        played = list(match.play(SAMPLES))
    finally:
        match.close()
    assert {failure.reason for failure in match.failures} == {Reason.TOO_SLOW}
    assert (len(asked), len(played)) == (answers, pieces)
