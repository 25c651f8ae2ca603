"""Verdicts on models near the time limit, on a host with nothing else to do and with every core busy."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from bench.interleaved import Spread, say, take_turns
from bench.programs import BENCH
from bench.report import Section, table
from bench.sizes import sized
from evaluation.builder.in_place_builder import InPlaceBuilder
from evaluation.domain.players import TrackName
from evaluation.formats.query.referee.match_players import Model
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources
from evaluation.sandbox.host_speed import REFERENCE_SECONDS, calibrate
from evaluation.sandbox.process_sandbox import ProcessSandbox
from evaluation.training.resnet import resnet18, resnet50

ROUNDS = sized(50, smallest=1)
FRAMES = sized(1, smallest=1)
FORWARDS = sized(20, smallest=1)
TOGETHER = sized(10, smallest=1)
SHARES = sized((0.80, 0.90, 1.10, 1.25), smallest=(0.80,))
"""The work of an image on the reference machine, by the limit."""

PRODUCTS_OF_REFERENCE = 8
"""Products of matrices in `REFERENCE_SECONDS`."""


@dataclass(frozen=True)
class Run:
    """The seconds of an image by the limit of the rules, and the factor of the host at that time."""

    used: float
    factor: float

    @property
    def passed(self) -> bool:
        """The verdict of the smoke test."""
        return self.used <= self.factor


def measure() -> Section:
    """Play each model alone and with every core busy, in turns; and measure ResNet-18 and ResNet-50."""
    loads = [f"{os.getloadavg()[0]:.1f}"]
    model = _model()
    try:
        turns = {
            f"{share:.2f} {'busy' if busy else 'alone'}": lambda share=share, busy=busy: _run(model, share, busy=busy)
            for share in SHARES
            for busy in (False, True)
        }
        seen = take_turns("limits", turns, ROUNDS)
    finally:
        model.close()
    loads.append(f"{os.getloadavg()[0]:.1f}")
    rows, differing, runs = [], 0, 0
    for share in SHARES:
        alone, busy = (seen[f"{share:.2f} {name}"] for name in ("alone", "busy"))
        differ = sum(a.passed != b.passed for a, b in zip(alone, busy, strict=True))
        differing, runs = differing + differ, runs + len(alone)
        used = [Spread.of([each.used / each.factor for each in some]).text() for some in (alone, busy)]
        passed = [f"{sum(each.passed for each in some)} of {len(some)}" for some in (alone, busy)]
        rows.append([f"{share:.2f}", *used, *passed, f"{differ}"])
    factors = [
        Spread.of([run.factor for name, some in seen.items() if name.endswith(state) for run in some]).text()
        for state in ("alone", "busy")
    ]
    lines = [
        *table(
            ["work by the limit", "charged, alone", "charged, busy", "passed, alone", "passed, busy", "differ"], rows
        ),
        "",
        *table(
            ["", "target", "measured: median of rounds (smallest to largest)"],
            [
                [
                    f"verdicts of {runs} runs that differ between alone and busy",
                    "at most 0.5 %",
                    f"{differing / runs:.1%}",
                ],
                ["factor of the host, alone", "", factors[0]],
                ["factor of the host, busy", "", factors[1]],
            ],
        ),
        "",
        *_networks(),
        "",
        f"Load of the host before and after the runs, busy processes included: {' and '.join(loads)}.",
    ]
    return Section("Time limits", lines)


def _model() -> Model:
    player = InPlaceBuilder().build(BENCH / "players" / "near_limit_model", on_log=lambda line: say(f"  {line}"))
    # no answer is cut off: the seconds are compared with the limit afterwards, as the smoke test does
    return Model(SandboxedPlayer(ProcessSandbox(), player, Resources()), TrackName.MODEL, QueryRules(), 100.0)


def _run(model: Model, share: float, *, busy: bool) -> Run:
    """Measure the host as a worker does, and ask the model about some frames."""
    rules = QueryRules()
    images = np.zeros((TOGETHER, *rules.shape), np.uint8)
    products = share * rules.model_seconds_per_image / REFERENCE_SECONDS * PRODUCTS_OF_REFERENCE
    images[:, 0, 0, 0] = round(products)
    with _every_core_busy(busy):
        factor = calibrate()
        before = model.seconds_per_image * model.images, model.images
        for _ in range(FRAMES):
            model.classify(images.tobytes(), TOGETHER)
        seconds = (model.seconds_per_image * model.images - before[0]) / (model.images - before[1])
    return Run(seconds / rules.model_seconds_per_image, factor)


@contextmanager
def _every_core_busy(busy: bool) -> Iterator[None]:
    loops = [multiprocessing.Process(target=_loop, daemon=True) for _ in range(os.cpu_count() or 1) if busy]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def _loop() -> None:
    while True:
        pass


def _networks() -> list[str]:
    """Return a table of the processor time of the networks of the papers, on one thread."""
    torch.set_num_threads(1)
    rules, factor = QueryRules(), calibrate()
    rows = []
    for name, network in (("ResNet-18", resnet18(rules.classes)), ("ResNet-50", resnet50(rules.classes))):
        network.eval()
        cells = []
        for count in (1, TOGETHER):
            images = torch.rand(count, 3, *rules.shape[:2])
            seconds = min(_forward(network, images) for _ in range(FORWARDS)) / count
            by_limit = seconds / (factor * rules.model_seconds_per_image)
            cells += [f"{1000 * seconds:.1f} ms", f"{1000 * seconds / factor:.1f} ms", f"{by_limit:.0%}"]
        rows.append([name, *cells])
    again = ["of the reference", "of 40 ms"]
    return table(["64 x 64, one thread", "alone", *again, "in frames of ten", *again], rows)


def _forward(network: torch.nn.Module, images: torch.Tensor) -> float:
    """Return the processor seconds of a forward pass."""
    start = time.thread_time()
    with torch.inference_mode():
        network(images)
    return time.thread_time() - start
