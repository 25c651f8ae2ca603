"""Does a player speak the protocol? Any command is started, asked what a referee asks, and judged check by check."""

from __future__ import annotations

from evaluation.conformance.check import Check
from evaluation.conformance.player import check_player

__all__ = ["Check", "check_player"]
