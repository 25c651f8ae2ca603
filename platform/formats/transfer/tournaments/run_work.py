"""Runs of the transfer format as work of the workers."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import QuerySet

from core.database_retry import persist
from formats.transfer.tournaments import engine_runs, run_queue, step_notifications
from formats.transfer.tournaments.models import RepeatRun
from formats.transfer.tournaments.selectors import KINDS, AnyRun, players_of, without_a_score
from submissions.evaluation_refunds import refund_given_up
from submissions.selectors import submissions_of_players
from workers import host_comparisons
from workers.lease import Heartbeat
from workers.models import Worker
from workers.work_item_queue import ItemQueue
from workers.work_kind_interface import PlaySession, Turn
from workers.worker_name import host_of


class RunWork(ItemQueue[AnyRun, AnyRun]):
    """Runs of attacks and defences."""

    name = "runs"
    tables = KINDS

    def waits(self) -> bool:
        return run_queue.anything_waits()

    def turns(self, worker: Worker, now: datetime) -> list[Turn]:
        return run_queue.turns(now)

    def claimable(self, worker: Worker, now: datetime) -> Sequence[QuerySet[Any]]:
        return [run_queue.waiting(kind, now) for kind in KINDS]

    def claim(self, worker: Worker, turn: Turn, now: datetime) -> AnyRun | None:
        return run_queue.claim(worker, turn, now)

    def row(self, claim: AnyRun) -> AnyRun:
        return claim

    def longest(self, claim: AnyRun) -> timedelta:
        return engine_runs.longest(claim.tournament)

    @contextmanager
    def session(self, claim: AnyRun, heartbeat: Heartbeat) -> Iterator[PlaySession[AnyRun]]:
        yield _RunSession()

    def log_ids(self, claim: AnyRun) -> dict[str, int]:
        return {}

    def traced(self, claim: AnyRun) -> list[int]:
        return submissions_of_players(players_of(claim), claim.entry_id)

    def fault_columns(self, fault: str) -> dict[str, Any]:
        return {"fault": fault}

    def given_up(self, item: AnyRun, reason: str) -> None:
        """Refund the slots of those that do not enter a leaderboard without the run; a round waits for an organiser.

        If both players are new, the run keeps out the one that comes second, which nobody knows yet: both are refunded.
        """
        tournament = item.tournament
        # images are labelled again after the scores
        if not tournament.fixed and tournament.ended_at is None and not isinstance(item, RepeatRun):
            refund_given_up(without_a_score().filter(player__in=players_of(item)))


runs = RunWork()


class _RunSession:
    """One run: players of the transfer format are started for each."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def play(self, claim: AnyRun) -> None:
        result = engine_runs.play(claim, self._stop)
        persist(partial(run_queue.commit, claim, result))
        if isinstance(claim, RepeatRun):
            found = engine_runs.comparisons(claim, result["labels"], host_of(claim.worker))
            persist(partial(host_comparisons.record, found))
        step_notifications.announce(claim)

    def stop(self) -> None:
        self._stop.set()

    def claim_next(self) -> AnyRun | None:
        return None
