from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.attacks.apgd import ApgdCe
from evaluation.formats.curves.attacks.autoattack import AutoAttack, AutoAttackWarning, warnings_of
from evaluation.formats.curves.attacks.catalogue import ATTACKS, attack_called
from evaluation.formats.curves.attacks.fab import FabT
from evaluation.formats.curves.attacks.square import Square
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.threat_models import Knowledge, Norm
from tests.evaluation.formats.curves.linear_models import LinearModel


class Wrapped(nn.Module):
    """The network of a linear model, with something before its answer."""

    def __init__(self, model: LinearModel) -> None:
        super().__init__()
        assert isinstance(model.classifier, NetworkClassifier)
        self.network = model.classifier.network

    def answer(self, images: Tensor) -> Tensor:
        """Return the logits of the linear model."""
        logits: Tensor = self.network(images)
        return logits


class Noisy(Wrapped):
    def forward(self, images: Tensor) -> Tensor:
        return self.answer(images + 0.1 * torch.randn_like(images))


class Probabilities(Wrapped):
    def forward(self, images: Tensor) -> Tensor:
        return self.answer(images).softmax(dim=1)


class Rounded(Wrapped):
    def forward(self, images: Tensor) -> Tensor:
        return self.answer((images.detach() * 8).round() / 8 + 0 * images)


class Purifying(Wrapped):
    def forward(self, images: Tensor) -> Tensor:
        with torch.enable_grad():
            variable = images.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(self.answer(variable).logsumexp(dim=1).sum(), variable)
        return self.answer(images - 1e-3 * gradient)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (Noisy, {AutoAttackWarning.RANDOMISED}),
        (Probabilities, {AutoAttackWarning.PROBABILITIES}),
        (Rounded, {AutoAttackWarning.ZERO_GRADIENTS}),
        (Purifying, {AutoAttackWarning.DYNAMIC}),
    ],
)
def test_a_defence_that_misleads_the_ensemble_is_warned_about(
    network: type[Wrapped], expected: set[AutoAttackWarning]
) -> None:
    torch.manual_seed(0)
    model = LinearModel(seed=1)
    assert warnings_of(NetworkClassifier(network(model), 10), model.images) == expected


def test_there_is_no_warning_for_a_plain_model() -> None:
    model = LinearModel(seed=1)
    assert warnings_of(model.classifier, model.images) == frozenset()


def test_the_trace_tells_what_each_attack_adds() -> None:
    model = LinearModel(seed=1)  # the cross-entropy leads APGD-CE elsewhere than to the nearest boundary
    batch = model.batch(AutoAttack(), Norm.LINF, budgets=1.15 * model.smallest(Norm.LINF).float(), strengths=(0, 1, 2))
    AutoAttack().run(batch)
    clean, first, both = batch.findings.traces.isfinite().sum(dim=0).tolist()
    assert clean == 0
    assert first < both
    assert both > 30


class Masked(Wrapped):
    """Gradients vanish, so that only random search is of use."""

    def forward(self, images: Tensor) -> Tensor:
        return self.answer(images.detach()) + 0 * images.flatten(1).sum(dim=1, keepdim=True)


def test_the_last_attack_is_square_and_asks_each_image_that_is_left_at_most_five_thousand_times() -> None:
    model = LinearModel(seed=1, spread=0.05, count=6)
    model.classifier = NetworkClassifier(Masked(model), 10)
    ensemble = AutoAttack((ApgdCe(5), FabT(iterations=3), Square()), queries=200)
    budgets = model.smallest(Norm.LINF).float() * torch.tensor([0.9] * 3 + [8.0] * 3)
    batch = model.batch(ensemble, Norm.LINF, budgets=budgets, strengths=(0, 1, 2, 3))
    ensemble.run(batch)
    found = batch.findings.found.tolist()
    assert found[:3] == [False] * 3
    assert any(found[3:])
    others = [int(queries) - 200 for queries in batch.model.queries[:3]]
    assert len(set(others)) == 1
    assert 0 < others[0] < 200
    assert (batch.model.queries[batch.findings.found] < 200 + others[0]).all()
    assert (batch.findings.distances <= batch.budgets)[batch.findings.found].all()


def test_attacks_are_found_by_their_names() -> None:
    assert set(ATTACKS) >= {
        *("fgsm", "bim", "mim", "pgd", "deepfool", "cw", "fmn", "apgd-ce", "apgd-t", "autoattack"),
        *("transfer-fgsm", "transfer-bim", "transfer-mim", "transfer-dim"),
    }
    for name, entry in ATTACKS.items():
        assert attack_called(name) is entry
        assert entry.by_budget.name == name
        assert entry.by_strength is None or entry.by_strength.name == name
        assert entry.by_budget.title
        assert entry.by_budget.source
        assert name.startswith("transfer-") == (entry.by_budget.knowledge is Knowledge.TRANSFER)


def test_an_unknown_attack_is_refused_with_the_names() -> None:
    with pytest.raises(Refusal, match=r"no attack 'fgms'(.|\n)*apgd-ce, apgd-t"):
        attack_called("fgms")
