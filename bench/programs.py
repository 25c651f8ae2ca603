"""Measured programs: each is started once and runs a block of requests in each of its turns."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from evaluation.formats.query.rules import QueryRules

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
IMAGE_BYTES = QueryRules().shape.size
FLASK_PYTHON = ROOT / ".venv-bench" / "bin" / "python"


class NotAvailableError(Exception):
    """A requirement of a measurement is missing on this machine; the text says how to install it."""


@dataclass(frozen=True)
class Block:
    """The result of one turn, in seconds: the median request, the number of requests, and their total."""

    median: float
    requests: int
    total: float


class Program:
    """A started program that answers blocks (see `bench.blocks`). A context manager."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        # one thread for every pool: in a real match each player has one CPU
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = {**os.environ, **threads, "PYTHONPATH": str(ROOT), **(variables or {})}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=ROOT, env=environment
        )

    def block(self, images: int, seconds: float) -> Block:
        """Run requests of `images` images for `seconds`. Raise RuntimeError where the program has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{images} {seconds}\n")
        line = self._process.stdout.readline().split()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with status {self._process.wait()}")
        return Block(float(line[0]) / 1e6, int(line[1]), float(line[2]) / 1e6)

    def resident_bytes(self) -> int:
        """Return the resident memory of the program's own process."""
        fields = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program by the end of its input; kill it if it goes on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def two_cpus() -> tuple[int, int]:
    """Return two of the CPUs that this process may use; the same one twice where there is only one."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[0], cpus[-1]


def referee(
    model: str,
    attack: str,
    *,
    piece_samples: int,
    cpus: Sequence[int] = (),
    variables: Mapping[str, str] | None = None,
) -> Program:
    """Return the real referee in a process, with the players `bench/players/MODEL.py` and `ATTACK.py` in one each.

    `cpus`: empty, or the players' CPU and the referee's; also below. `variables` is added to the environment of all
    three.
    """
    players = [str(BENCH / "players" / f"{name}.py") for name in (model, attack)]
    command = [sys.executable, "-m", "bench.referee_process", str(piece_samples), *players]
    return Program([*command, *map(str, cpus)], variables)


def floor(folder: Path, *, cpus: Sequence[int] = ()) -> Program:
    """Return the floor in C, compiled into `folder`."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise NotAvailableError("the floor of the chain needs a C compiler `cc`: install gcc")
    program = str(folder / "floor")
    subprocess.run([compiler, "-O2", "-o", program, str(BENCH / "floor.c")], check=True)
    return Program([program, str(IMAGE_BYTES), *map(str, cpus)])


def flask_hop(*, cpus: Sequence[int] = ()) -> Program:
    """Return one hop of Flask and BSON as in 2018."""
    if not FLASK_PYTHON.exists():
        raise NotAvailableError("the Flask hop needs the environment .venv-bench: run `make bench`, which creates it")
    return Program([str(FLASK_PYTHON), "-m", "bench.flask_hop", *map(str, (*QueryRules().shape, *cpus))])
