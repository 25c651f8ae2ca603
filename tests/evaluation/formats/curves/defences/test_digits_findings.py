"""Findings of Dong et al. 2020 on the bundled digits: five images, so that no more than their direction is tested."""

from __future__ import annotations

import pytest
import torch

from evaluation.datasets.digits import digits
from evaluation.formats.curves.attacks.iterative import Bim, TransferBim
from evaluation.formats.curves.defences.catalogue import BUNDLED
from evaluation.formats.curves.defences.input_transformations import BitReduction, Jpeg
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.models.model_file import digest_of
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.runner.benchmark_run import BenchmarkRun, Subject, play_batch
from evaluation.formats.curves.runner.benchmark_settings import BenchmarkSettings
from evaluation.formats.curves.scoring.paper_findings import PaperFinding, Roles, findings
from evaluation.formats.curves.threat_models import Goal, Norm


@pytest.fixture(scope="module")
def found() -> dict[int, PaperFinding]:
    """What BIM on the plain network and behind two transformations says of each finding."""
    samples = digits().samples("test-1", 5)
    plain = BUNDLED["plain-resnet"].load(torch.device("cpu"))
    assert isinstance(plain, NetworkClassifier)
    models = {"jpeg": Jpeg(plain.network, 75), "bit-reduction": BitReduction(plain.network, 4)}
    results: list[Results] = []
    for attack, substitute in ((Bim(5), None), (TransferBim(5), plain)):
        run = BenchmarkRun(attack, None, Goal.UNTARGETED, Norm.LINF)
        for name, network in models.items():
            model = NetworkClassifier(network, 10, name, digest=digest_of(network, b""))
            results.append(play_batch(run, Subject(model, samples, "digits", substitute), samples, BenchmarkSettings()))
    results.append(
        play_batch(
            BenchmarkRun(Bim(5), None, Goal.UNTARGETED, Norm.LINF),
            Subject(plain, samples, "digits"),
            samples,
            BenchmarkSettings(),
        )
    )
    roles = Roles("plain-resnet", "", "", transformations=tuple(models))
    return {each.number: each for each in findings(results, roles)}


def test_iterative_attacks_bring_every_model_from_its_clean_accuracy_to_zero(found: dict[int, PaperFinding]) -> None:
    assert found[2].holds, found[2].figure


def test_adaptive_gradients_are_at_least_as_strong_as_those_of_the_model_behind(found: dict[int, PaperFinding]) -> None:
    assert found[10].holds, found[10].figure
