"""Does a player speak the protocol? Any command is started, asked what a referee asks, and judged check by check."""

from __future__ import annotations

from evaluation.conformance.player import check_player
from evaluation.conformance.steps import Check

__all__ = ["Check", "check_player"]
