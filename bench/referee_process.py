"""The real referee in a process of its own, with both players as plain processes and no sandbox.

usage: python -m bench.referee_process PIECE_SAMPLES MODEL.py ATTACK.py [PLAYERS_CPU REFEREE_CPU]
With the numbers of two CPUs, the referee runs on one and both players on the other.
Plays piece after piece under the rules of 2018 until the attack disconnects. Stdin and stdout are the attack's.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from evaluation.domain.players import TrackName
from evaluation.domain.processor_use import ProcessorUse
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.referee.player_interface import PlayerConnection, PlayerExit
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.listener import Listener
from evaluation.sandbox.base import SOCKET_NAME, SOCKET_VARIABLE

TARGET = 1
"""A class that no model of the benchmarks ever answers, so that every sample is played to the end."""

PATIENT = 100.0
"""Factor on time limits, because an attack's clock runs on while others take their turns."""


class ProgramPlayer(PlayerConnection):
    """A Python file as a plain process."""

    def __init__(self, program: str, stdin: int | None, cpu: int | None) -> None:
        self._program = program
        self._stdin = stdin
        self._cpu = cpu
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, seconds: float) -> tuple[socket.socket, float]:
        with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
            path = Path(folder) / SOCKET_NAME
            listener = Listener(path)
            environment = {**os.environ, SOCKET_VARIABLE: str(path)}
            process = subprocess.Popen([sys.executable, self._program], stdin=self._stdin, env=environment)
            self._process = process
            if self._cpu is not None:
                os.sched_setaffinity(process.pid, {self._cpu})
            deadline = time.monotonic() + seconds
            return listener.accept(deadline, lambda: process.poll() is not None), deadline

    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        return PlayerExit()

    def give_up(self) -> None:
        """Do nothing: no instance is started early here."""

    def processor_use(self) -> ProcessorUse | None:
        return None

    def another(self) -> ProgramPlayer:
        return ProgramPlayer(self._program, self._stdin, self._cpu)


def main() -> None:
    piece_samples, model, attack = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    players_cpu, referee_cpu = map(int, sys.argv[4:]) if sys.argv[4:] else (None, None)
    if referee_cpu is not None:
        os.sched_setaffinity(0, {referee_cpu})
    rules = replace(QueryRules(), piece_samples=piece_samples)
    rng = np.random.default_rng(0)
    samples = [
        Sample(number, rng.integers(0, 256, rules.shape, np.uint8), label=0, target=TARGET)
        for number in range(piece_samples)
    ]
    match = RefereedMatch(
        rules=rules,
        track=TrackName.TARGETED,
        model=ProgramPlayer(model, subprocess.DEVNULL, players_cpu),
        attack=ProgramPlayer(attack, None, players_cpu),
        seed=0,
        calibration=PATIENT,
        fresh_audit=False,
        reuse_attack=True,
    )
    try:
        while not match.failures:
            match.play_piece(samples)
    finally:
        match.close()


if __name__ == "__main__":
    main()
