from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from evaluation.domain.samples import Sample
from evaluation.formats.curves.attacks.iterative import Bim
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.runner.benchmark_run import BenchmarkRun, Subject, play_batch
from evaluation.formats.curves.runner.benchmark_settings import BenchmarkSettings
from evaluation.formats.curves.threat_models import Goal, Norm


class Noisy(nn.Module):
    """Answers means of the three channels, and noise."""

    def forward(self, images: Tensor) -> Tensor:
        return images.mean((2, 3)) + 0.05 * torch.randn(len(images), 3)


def test_what_a_random_model_answers_follows_from_the_seed() -> None:
    rng = np.random.default_rng(0)
    samples = [Sample(number, rng.integers(0, 256, (2, 2, 3), np.uint8), number % 3) for number in range(12)]
    subject = Subject(NetworkClassifier(Noisy(), 3, random=True), samples, "test")
    run = BenchmarkRun(Bim(iterations=2), None, Goal.UNTARGETED, Norm.LINF)
    first, again, other = (play_batch(run, subject, samples, BenchmarkSettings(seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(first.distances, again.distances)
    assert np.array_equal(first.traces, again.traces)
    assert not np.array_equal(first.distances, other.distances)
