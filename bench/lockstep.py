"""Gain by lock-step with a real network and an attack that is written for one image."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import programs
from bench.interleaved import Spread, ratios, take_turns
from bench.programs import Program
from bench.report import Section, table
from bench.sizes import sized

ROUNDS = sized(7, smallest=1)
SECONDS = sized(1.5, smallest=0.001)
TOGETHER = 10


@dataclass(frozen=True)
class Stretch:
    """Images per second, and the share of the time in which the model did not compute."""

    images_per_second: float
    harness: float


def measure() -> Section:
    """Measure ResNet-18 of `evaluation.training` on one thread."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        turns = {count: _contender(stack, Path(folder) / f"clock-{count}", count) for count in (1, TOGETHER)}
        seen = take_turns("lock-step", {str(count): turn for count, turn in turns.items()}, ROUNDS)
    rates = {name: [stretch.images_per_second for stretch in stretches] for name, stretches in seen.items()}
    shares = {name: Spread.of([100 * s.harness for s in stretches]) for name, stretches in seen.items()}
    rows = [
        [
            f"{name} sample{'s in lock-step' if int(name) > 1 else ' at a time'}",
            f"{Spread.of(rates[name]).median:.0f}",
            f"{1000 / Spread.of(rates[name]).median:.2f} ms",
            f"{shares[name].median:.1f} %",
        ]
        for name in seen
    ]
    together = str(TOGETHER)
    alone = {name: [s.images_per_second / (1 - s.harness) for s in stretches] for name, stretches in seen.items()}
    targets = [
        ["images/s, lock-step to one at a time", "at least 3.0", ratios(rates[together], rates["1"]).text()],
        ["the same of the network by itself", "", ratios(alone[together], alone["1"]).text()],
        [f"harness's share of the time, {together} samples", "under 5 %", shares[together].text(1, " %")],
    ]
    lines = [
        *table(["attack written for one image, ResNet-18 on one CPU thread", "images/s", "an image", "harness"], rows),
        "",
        *table(["", "target", "measured: median of rounds (smallest to largest)"], targets),
    ]
    return Section("Lock-step with a real network", lines)


def _contender(stack: ExitStack, clock: Path, count: int) -> Callable[[], Stretch]:
    clock.write_bytes(bytes(8))
    program = programs.referee(
        "resnet18_model", "sdk_attack", piece_samples=count, variables={"BENCH_CLOCK": str(clock)}
    )
    stack.enter_context(program)
    return lambda: _stretch(program, clock, count)


def _stretch(program: Program, clock: Path, count: int) -> Stretch:
    before = _seconds(clock)
    block = program.block(count, SECONDS)
    computed = _seconds(clock) - before
    return Stretch(count * block.requests / block.total, 1 - computed / block.total)


def _seconds(clock: Path) -> float:
    seconds: float = struct.unpack("<d", clock.read_bytes())[0]
    return seconds
