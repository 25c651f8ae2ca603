"""What a match leaves on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.formats.query.results import MatchResult
from evaluation.formats.query.runner.match_result_files import median_distance, read_result, write_result


def brighten(model: Any, image: Any, label: int, *, target: None, rng: Any) -> None:
    """Raise the brightness until the label changes; leave some samples alone."""
    if model.queries_left and image[0, 0, 0] % 2 == 0:
        for step in range(1, 128, 8):
            model(image.astype(float) + step)


@pytest.fixture
def match(game: Any) -> MatchResult:
    game.play(attack=brighten, samples=game.samples(5))
    return MatchResult(game.rules, "untargeted", "m", "a", tuple(game.pieces), game.audit, game.failures)


def test_it_writes_what_it_reads(game: Any, match: MatchResult, tmp_path: Path) -> None:
    write_result(match, game.samples(5), tmp_path / "out")
    read = read_result(tmp_path / "out")
    assert [row["sample"] for row in read["samples"]] == [0, 1, 2, 3, 4]
    assert [row["distance"] for row in read["samples"]] == [row.distance for row in match.samples]  # to the last bit
    assert read["median_distance"] == median_distance(match)
    assert read["rules"]["name"] == "avc-2018"
    assert read["rules"]["version"] == 1


def test_the_trace_is_enough_to_draw_distance_against_queries(game: Any, match: MatchResult, tmp_path: Path) -> None:
    write_result(match, game.samples(5), tmp_path)
    trace = np.load(tmp_path / "trace.npz")
    for row in match.samples:
        mine = (trace["sample"] == row.sample) & (trace["label"] != row.label)
        reached = np.minimum.accumulate(trace["distance"][mine])
        assert row.found_label is None or reached[-1] == pytest.approx(row.distance, rel=1e-6)
    assert len(trace["query"]) == sum(row.queries for row in match.samples)


def test_arrays_stand_in_the_order_of_the_samples(game: Any, match: MatchResult, tmp_path: Path) -> None:
    write_result(match, game.samples(5), tmp_path)
    arrays = np.load(tmp_path / "perturbed.npz")
    assert arrays["sample"].tolist() == [0, 1, 2, 3, 4]
    assert arrays["clean"].dtype == arrays["perturbed"].dtype == np.uint8
    for row, label, image in zip(match.samples, arrays["found_label"], arrays["perturbed"], strict=True):
        if row.found_label is None:
            assert label == -1
            assert (image == 128).all()
        else:
            assert label == row.found_label == game.brightness(image[None])[0]
