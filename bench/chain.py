"""Cost of one request through attack, referee and model, where neither player computes anything."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import programs
from bench.interleaved import Spread, ratios, take_turns
from bench.programs import Program
from bench.report import Section, table
from bench.sizes import sized

ROUNDS = sized(9, smallest=1)
SECONDS = sized(0.15, smallest=0.001)

FLOOR = "floor: three processes in C that only copy"
RAW = "the referee; the attack speaks frames, the model through the SDK"
SDK = "the referee; both through the SDK, the attack in lock-step"
FLASK = "Flask and BSON as in 2018: one hop, no referee"
DESIGNS = (FLOOR, RAW, SDK, FLASK)


@dataclass(frozen=True)
class Setting:
    """Images in a request, and whether players and referee are pinned to a CPU each or placed by the kernel."""

    count: int
    held: bool

    @property
    def text(self) -> str:
        """The text for a heading."""
        images = f"{self.count} image{'s' if self.count > 1 else ''}"
        return images if self.held else f"{images}, kernel places"


SINGLE = Setting(1, True)
TEN, MOST = Setting(10, True), Setting(64, True)
SETTINGS = (SINGLE, *sized((TEN, MOST), smallest=()), Setting(1, False))

TARGETS = ((SINGLE, 2.0, 2.0), *sized(((TEN, 2.0, 3.0), (MOST, 2.0, 3.0)), smallest=()))
"""The largest ratios to the floor: with raw frames, and with the SDK in lock-step."""

Medians = dict[tuple[str, Setting], list[float]]


def measure() -> Section:
    """Measure the chain. Needs a C compiler and .venv-bench; raise `NotAvailableError` where one is missing."""
    medians: Medians = {}
    with tempfile.TemporaryDirectory() as folder:
        for setting in SETTINGS:
            with ExitStack() as stack:
                contenders = _contenders(Path(folder), setting)
                turns = {
                    name: partial(stack.enter_context(program).block, setting.count, SECONDS)
                    for name, program in contenders.items()
                }
                for name, blocks in take_turns(f"chain, {setting.text}", turns, ROUNDS).items():
                    medians[name, setting] = [block.median for block in blocks]
    return Section("A request through the chain", [*_costs(medians), "", *_targets(medians)])


def _contenders(folder: Path, setting: Setting) -> dict[str, Program]:
    cpus: Sequence[int] = programs.two_cpus() if setting.held else ()
    return {
        FLOOR: programs.floor(folder, cpus=cpus),
        RAW: programs.referee("constant_model", "raw_attack", piece_samples=10, cpus=cpus),
        SDK: programs.referee("constant_model", "sdk_attack", piece_samples=setting.count, cpus=cpus),
        FLASK: programs.flask_hop(cpus=cpus),
    }


def _costs(medians: Medians) -> list[str]:
    header = ["a request of"]
    for setting in SETTINGS:
        header += [setting.text, "images/s", "to floor"]
    rows = []
    for name in DESIGNS:
        row = [name]
        for setting in SETTINGS:
            seconds = Spread.of(medians[name, setting]).median
            over = ratios(medians[name, setting], medians[FLOOR, setting]).median
            row += [f"{seconds * 1e6:,.0f} us", f"{setting.count / seconds:,.0f}", f"{over:.2f}"]
        rows.append(row)
    return table(header, rows)


def _targets(medians: Medians) -> list[str]:
    rows = [
        [
            f"{design}, {setting.text}",
            f"at most {most:.1f}",
            ratios(medians[name, setting], medians[FLOOR, setting]).text(),
        ]
        for (setting, *limits) in TARGETS
        for (name, design), most in zip(((RAW, "raw frames"), (SDK, "SDK in lock-step")), limits, strict=True)
    ]
    flask = ratios(medians[FLASK, SINGLE], medians[RAW, SINGLE])
    through_sdk = ratios(medians[FLASK, SINGLE], medians[SDK, SINGLE])
    return table(
        ["time of a request to the floor", "target", "measured: median of rounds (smallest to largest)"],
        [
            *rows,
            ["images/s to those of the Flask hop, 1 image", "at least 8.0", flask.text(1)],
            ["the same with the SDK's attack", "", through_sdk.text(1)],
        ],
    )
