from __future__ import annotations

import torch
from torch import nn

from evaluation.formats.curves.defences.cifar_networks import CifarResNet, Ensemble, MeanOverDraws


class Answer(nn.Module):
    """Answers the same logits for every image."""

    def __init__(self, *logits: float) -> None:
        super().__init__()
        self.logits = torch.tensor(logits)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(images), -1)


def test_an_ensemble_answers_the_mean_of_probabilities() -> None:
    mean = Ensemble([Answer(0.0, 9.0), Answer(3.0, 0.0)])(torch.zeros(4, 3, 2, 2)).exp()
    expected = (torch.tensor([0.0, 9.0]).softmax(0) + torch.tensor([3.0, 0.0]).softmax(0)) / 2
    assert torch.allclose(mean, expected.expand(4, 2))


def test_noise_differs_from_call_to_call_and_several_draws_are_averaged() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        noisy = CifarResNet(noisy=True).eval()
        images = torch.rand(2, 3, 32, 32)
        assert not torch.equal(noisy(images), noisy(images))
        one, many = (
            torch.stack([MeanOverDraws(noisy, draws).eval()(images) for _ in range(8)]).std(0).mean()
            for draws in (1, 16)
        )
    assert many < one / 2
