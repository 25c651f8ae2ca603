"""Speed of the attacks of `gauntlet benchmark` beside foolbox and torchattacks: same network, images and steps."""

from __future__ import annotations

import copy
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from bench.interleaved import Spread, ratios, say, take_turns
from bench.programs import ROOT, NotAvailableError
from bench.report import Section, table
from bench.sizes import sized
from evaluation.baselines.bundled import FOLDER
from evaluation.baselines.shared.network import load_network
from evaluation.datasets.load import load_dataset
from evaluation.formats.curves.attacks.apgd import ApgdCe
from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, Findings
from evaluation.formats.curves.attacks.boundary import Boundary
from evaluation.formats.curves.attacks.carlini_wagner import CarliniWagner
from evaluation.formats.curves.attacks.deepfool import DeepFool
from evaluation.formats.curves.attacks.fab import FabT
from evaluation.formats.curves.attacks.fast_minimum_norm import FastMinimumNorm
from evaluation.formats.curves.attacks.fgsm import Fgsm
from evaluation.formats.curves.attacks.iterative import Bim, Mim, Pgd
from evaluation.formats.curves.attacks.smallest_budget import BISECTIONS, search
from evaluation.formats.curves.attacks.square import Square
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.models.counted_model import CountedModel
from evaluation.formats.curves.runner.benchmark_run import as_tensor
from evaluation.formats.curves.runner.benchmark_settings import FIRST_BUDGETS, SMALL_IMAGES
from evaluation.formats.curves.threat_models import Capability, Norm

IMAGES = sized(10, smallest=1)
ROUNDS = sized(3, smallest=1)
COMPARED = sized(slice(None), smallest=slice(None, None, 3))
C_STEPS = sized(100, smallest=2)
"""Iterations of C&W with each c."""
CS = sized(11, smallest=2)
"""How many c are tried."""
QUERIES = sized(500, smallest=5)
LEAST_SECONDS = sized(0.5, smallest=0.0)
"""Processor time of a measurement: shorter attacks are run several times."""
HEADER = ["images/s of processor time, one thread", "here", "foolbox", "torchattacks", "target", "here / faster"]
TORCHATTACKS = ROOT / ".venv-bench" / "torchattacks"

Run = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """An attack, and what it is compared with: functions of the other two libraries, or None."""

    title: str
    target: float
    """At least so many times as fast as the faster of the others."""
    ours: Run
    foolbox: Run | None = None
    torchattacks: Run | None = None


@dataclass(frozen=True)
class _Setting:
    """Network and images, as each library has them."""

    network: nn.Module
    """For the other libraries."""
    classifier: NetworkClassifier
    images: Tensor
    """In the order of memory that `gauntlet benchmark` has."""
    labels: Tensor
    foolbox: Any
    """Its module of attacks."""
    torchattacks: Any

    def batch(self, attack: Attack, norm: Norm, rows: Tensor, budgets: Tensor, limit: int | None) -> AttackedBatch:
        """Return a batch of some images."""
        images = self.images[rows]
        model = CountedModel(self.classifier, attack.knowledge, len(rows), limit)
        return AttackedBatch(
            images, self.labels[rows], None, rows.tolist(), norm, budgets, model, Findings(images, norm)
        )

    def ours(self, attack: Attack, norm: Norm, limit: int | None = None) -> Run:
        """Return one run of an attack of the benchmark at the fixed budget."""
        budget = SMALL_IMAGES[norm] if attack.capability is Capability.CONSTRAINED else torch.inf
        rows = torch.arange(len(self.images))
        budgets = torch.full((len(rows),), budget)
        return lambda: attack.run(self.batch(attack, norm, rows, budgets, limit))

    def with_foolbox(self, attack: Any, epsilons: object = None, **more: Tensor) -> Run:
        """Return one run of an attack of foolbox; `epsilons` is None for attacks that make the distance small."""
        model, images = import_module("foolbox").PyTorchModel(self.network, bounds=(0, 1)), self.images.contiguous()
        return lambda: attack(model, images, self.labels, epsilons=epsilons, **more)

    def with_torchattacks(self, *attacks: Any) -> Run:
        """Return one run of attacks of torchattacks, one after the other."""
        images = self.images.contiguous()
        return lambda: [attack(images, self.labels) for attack in attacks]

    def with_torchattacks_judged(self, attack: Any) -> Run:
        """Return one run of an attack of torchattacks that does not look which of its images are adversarial, and that
        look: the other two libraries always take it."""
        images = self.images.contiguous()

        def run() -> Tensor:
            attacked = attack(images, self.labels)
            with torch.no_grad():
                adversarial: Tensor = self.network(attacked).argmax(dim=1) != self.labels
            return adversarial

        return run


def measure() -> Section:
    """Measure all attacks that another library has. Raise `NotAvailableError` without torchattacks."""
    setting = _setting()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rows = []
    try:
        for each in comparisons(setting)[COMPARED]:
            named = {"here": each.ours, "foolbox": each.foolbox, "torchattacks": each.torchattacks}
            contenders = {name: partial(_seconds, run) for name, run in named.items() if run is not None}
            rows.append(_row(each, take_turns(f"benchmark, {each.title}", contenders, ROUNDS)))
            say("benchmark, " + ", ".join(f"{name} {cell}" for name, cell in zip(HEADER, rows[-1], strict=True)))
    finally:
        torch.set_num_threads(threads)
    return Section("Attacks of the benchmark", table(HEADER, rows))


def comparisons(of: _Setting) -> list[Comparison]:
    """Return all comparisons. Steps are as long as those of the benchmark."""
    fb, ta = of.foolbox, of.torchattacks
    linf, l2 = SMALL_IMAGES[Norm.LINF], SMALL_IMAGES[Norm.L2]
    step = 0.15  # of the budget: 1.5 / 10 iterations
    first = FIRST_BUDGETS[Norm.LINF]
    tried = [first * number / (BISECTIONS + 1) for number in range(1, BISECTIONS + 2)]
    bim = fb.LinfBasicIterativeAttack(rel_stepsize=step, steps=10)
    return [
        Comparison(
            "FGSM, Linf", 1, of.ours(Fgsm(), Norm.LINF),
            of.with_foolbox(fb.LinfFastGradientAttack(), linf), of.with_torchattacks_judged(ta.FGSM(of.network, linf)),
        ),
        Comparison(
            "BIM, Linf, 10 steps", 1, of.ours(Bim(), Norm.LINF),
            of.with_foolbox(bim, linf), of.with_torchattacks_judged(ta.BIM(of.network, linf, step * linf, 10)),
        ),
        Comparison(
            "MIM, Linf, 10 steps", 1, of.ours(Mim(), Norm.LINF),
            torchattacks=of.with_torchattacks_judged(ta.MIFGSM(of.network, linf, step * linf, 10)),
        ),
        Comparison(
            "PGD, Linf, 40 steps", 1, of.ours(Pgd(restarts=1), Norm.LINF),
            of.with_foolbox(fb.LinfProjectedGradientDescentAttack(rel_stepsize=2.5 / 40, steps=40), linf),
            of.with_torchattacks_judged(ta.PGD(of.network, linf, 2.5 / 40 * linf, 40)),
        ),
        Comparison(
            "PGD, L2, 40 steps", 1, of.ours(Pgd(restarts=1), Norm.L2),
            of.with_foolbox(fb.L2ProjectedGradientDescentAttack(rel_stepsize=2.5 / 40, steps=40), l2),
            of.with_torchattacks_judged(ta.PGDL2(of.network, l2, 2.5 / 40 * l2, 40)),
        ),
        Comparison(
            f"search for the smallest budget: BIM, Linf, {BISECTIONS + 1} budgets", 2, _search(of),
            of.with_foolbox(bim, tried),
        ),
        Comparison(
            "DeepFool, L2, 50 steps, 10 classes", 1, of.ours(DeepFool(iterations=50), Norm.L2),
            of.with_foolbox(fb.L2DeepFoolAttack(steps=50, candidates=10)),
            of.with_torchattacks(ta.DeepFool(of.network, steps=50)),
        ),
        Comparison(
            f"C&W, {CS} c, {C_STEPS} steps with each", 2,
            of.ours(CarliniWagner(iterations=C_STEPS, bisections=CS - 1), Norm.L2),
            of.with_foolbox(fb.L2CarliniWagnerAttack(CS, C_STEPS, stepsize=0.01, initial_const=1.0)),
            of.with_torchattacks(*(ta.CW(of.network, c=2.0**power, steps=C_STEPS, lr=0.01) for power in range(CS))),
        ),
        Comparison(
            "FMN, L2, 100 steps", 1, of.ours(FastMinimumNorm(), Norm.L2),
            of.with_foolbox(fb.L2FMNAttack(steps=100)),
        ),
        Comparison(
            "APGD-CE, Linf, 100 steps", 1, of.ours(ApgdCe(), Norm.LINF),
            torchattacks=of.with_torchattacks(ta.APGD(of.network, eps=linf, steps=100)),
        ),
        Comparison(
            "FAB-T, Linf, 9 classes, 5 steps with each", 1, of.ours(FabT(iterations=5), Norm.LINF),
            torchattacks=of.with_torchattacks(
                ta.FAB(of.network, eps=linf, steps=5, multi_targeted=True, n_classes=10)
            ),
        ),
        Comparison(
            f"Square, Linf, {QUERIES} queries", 1, of.ours(Square(), Norm.LINF, QUERIES),
            torchattacks=of.with_torchattacks(ta.Square(of.network, eps=linf, n_queries=QUERIES)),
        ),
        Comparison(
            f"Boundary, L2, {QUERIES} steps", 1, of.ours(Boundary(), Norm.L2, QUERIES),
            of.with_foolbox(fb.BoundaryAttack(steps=QUERIES), starting_points=_starts(of)),
        ),
    ]  # fmt: skip


def _starts(of: _Setting) -> Tensor:
    """Return an image of another class for each image: foolbox's own search for a start fails for some."""
    images = as_tensor(load_dataset("digits").samples("test-1", 20)).contiguous()  # of all classes
    with torch.no_grad():
        answers = of.network(images).argmax(dim=1)
    return torch.stack([images[(answers != label).nonzero()[0, 0]] for label in of.labels])


def _search(of: _Setting) -> Run:
    def batch_of(attack: Attack, rows: Tensor, budgets: Tensor) -> AttackedBatch:
        return of.batch(attack, Norm.LINF, rows, budgets, None)

    return lambda: search(Bim(), batch_of, torch.arange(len(of.images)), FIRST_BUDGETS[Norm.LINF])


def _setting() -> _Setting:
    if not TORCHATTACKS.is_dir():
        raise NotAvailableError("torchattacks is missing: run `make bench`, which installs it into .venv-bench")
    sys.path.append(str(TORCHATTACKS))
    warnings.filterwarnings("ignore", module="foolbox|torchattacks|eagerpy")
    foolbox, torchattacks = import_module("foolbox.attacks"), import_module("torchattacks")
    samples = load_dataset("digits").samples("test-1", 2 * IMAGES)
    network = load_network(FOLDER / "plain-resnet" / "weights.safetensors")
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    images, labels = as_tensor(samples), torch.tensor([sample.label for sample in samples])
    with torch.no_grad():
        right = (network(images).argmax(dim=1) == labels).nonzero()[:IMAGES, 0]
    # torchattacks cannot take gradients in the order of memory that is the fastest
    classifier = NetworkClassifier(copy.deepcopy(network), 10)
    return _Setting(network, classifier, images[right], labels[right], foolbox, torchattacks)


def _seconds(run: Run) -> float:
    """Return the mean processor time of as many runs as take the least time."""
    torch.manual_seed(0)
    begun, runs, spent = time.process_time(), 0, 0.0
    while not runs or spent < LEAST_SECONDS:
        run()
        runs, spent = runs + 1, time.process_time() - begun
    return spent / runs


def _row(each: Comparison, seconds: Mapping[str, Sequence[float]]) -> list[str]:
    speeds = {name: f"{IMAGES / Spread.of(found).median:,.1f}" for name, found in seconds.items()}
    others = [[*seconds[name]] for name in ("foolbox", "torchattacks") if name in seconds]
    faster = [min(turn) for turn in zip(*others, strict=True)]
    named = [speeds.get(name, "-") for name in ("here", "foolbox", "torchattacks")]
    return [each.title, *named, f"at least {each.target:.0f}", ratios(faster, seconds["here"]).text()]
