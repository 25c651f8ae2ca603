"""Protocol tests of players: any command is started and sent the frames of a referee, check by check."""

from __future__ import annotations

from evaluation.formats.query.conformance.player_check import check_player
from evaluation.formats.query.conformance.steps import Check

__all__ = ["Check", "check_player"]
