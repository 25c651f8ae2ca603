from __future__ import annotations

import random

import pytest

from evaluation.bundle.canonical_json import MOST_BYTES, encode
from evaluation.domain.errors import Refusal
from evaluation.formats.curves.bundle.size_check import check_size


def test_a_benchmark_is_not_longer_than_it_counts() -> None:
    """Of as many benchmarks as are allowed, the lines fit."""
    draw, samples = random.Random(0), 1000
    distances = [draw.random() * 10.0 ** draw.randrange(-6, 2) for _ in range(samples)]
    line = {
        "kind": "benchmark", "team": "t" * 60, "attack": "hop-skip-jump", "knowledge": "decision",
        "goal": "untargeted", "norm": "linf", "queries": 1_000_000, "reason": "", "results": "0" * 64,
        "seed": str(2**63 - 1),
        "right": [False] * samples, "distances": distances,
    }  # fmt: skip
    most = next(models for models in range(1, 10**4) if _is_too_large(models + 1, samples))
    assert most * 20 * len(encode([line])) < MOST_BYTES


def test_too_many_lines_are_refused() -> None:
    with pytest.raises(Refusal, match=r"would have 60,002 lines, and at most 59,000 can be read"):
        check_size(models=30_000, attacks=1, samples=1)


def _is_too_large(models: int, samples: int) -> bool:
    try:
        check_size(models=models, attacks=20, samples=samples)
    except Refusal:
        return True
    return False
