"""Bundles of rounds of the sizes of the papers: of drawn results, written and verified, each in its own process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.interleaved import say
from bench.large_bundle import FIELDS
from bench.report import Section, table
from bench.tampered_bundles import SEED
from evaluation.bundle.body_in_parts import read_manifest
from evaluation.bundle.key_succession import public_key

ROOT = Path(__file__).parent.parent


class Used(NamedTuple):
    """What a process used: seconds, seconds of processor time, and its largest resident memory in MiB."""

    wall: float
    processor: float
    memory: float

    def cells(self) -> list[str]:
        """The columns of a table."""
        return [f"{self.wall:.0f} s", f"{self.processor:.0f} s", f"{self.memory:,.0f} MiB"]


def measure() -> Section:
    """Make and verify a bundle of each size, with `verify.mjs` too where Node is installed."""
    key = ["--key", public_key(SEED)]
    sizes, rows = [], []
    with TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        for name, field in FIELDS.items():
            path = Path(folder) / f"{name}.gauntlet"
            commands = {
                "draw, write and sign": [sys.executable, "-m", "bench.large_bundle", name, str(path)],
                "gauntlet verify": [sys.executable, "-m", "evaluation", "verify", str(path), *key],
            }
            if shutil.which("node"):
                commands["tools/verify.mjs"] = ["node", "tools/verify.mjs", *key, str(path)]
            for what, command in commands.items():
                rows.append([f"{name}: {what}", *run(command).cells()])
                say(f"bundles: {', '.join(rows[-1])}")
            with path.open("rb") as file:
                file.readline()
                parts = read_manifest(file.readline())
            lines = sum(part.lines for part in parts)
            sizes.append(f"{field}: {path.stat().st_size / 1e6:,.0f} MB, {lines:,} lines in {len(parts)} parts.")
    heads = ("", "time", "processor time", "memory")
    return Section("Bundles of the sizes of the papers", ["\n".join(sizes), "", *table(heads, rows)])


def run(command: Sequence[str]) -> Used:
    """Run a command and return what it used. Raise `CalledProcessError` where it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Used(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
