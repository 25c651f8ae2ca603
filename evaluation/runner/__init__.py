"""One match end to end: the only place where sandboxes, sockets and the referee meet."""

from __future__ import annotations

from evaluation.runner.artefacts import read_result, write_result
from evaluation.runner.play import Played, play
from evaluation.runner.seat import SandboxSeat

__all__ = ["Played", "SandboxSeat", "play", "read_result", "write_result"]
