"""Rounds of the transfer format for tests: planned, begun, and played to their end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from accounts.models import User
from competitions.models import Competition
from core import clock
from rounds.formats import format_of
from rounds.models import Round
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.running import lifecycle as rounds
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import play_all


def plan(competition: Competition, by: User, **more: Any) -> Round:
    values: dict[str, Any] = {
        "competition": competition, "title": "Round 1", "kind": "development", "schedule": "", "guard": True,
        "source": competition.sample_sets.get(name="test"), "samples": 6,
        "starts_at": clock.now() + timedelta(hours=1), "ends_at": clock.now() + timedelta(hours=2), "by": by,
    }  # fmt: skip
    return plan_round(**values | more)


def begin(round_: Round, by: User, the_clock: FakeClock) -> None:
    """Freeze and start it."""
    the_clock.at = round_.window.starts_at
    freeze(round_=round_, by=by)
    rounds.start(round_=round_, by=by)


def play(round_: Round) -> int:
    """Play it to its end."""
    assert round_.tournament is not None
    played = play_all(round_.tournament)
    format_of(round_).advance(round_)
    round_.refresh_from_db()
    return played
