"""Runs of the transfer format as work of the workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

from core.database import persist
from tournaments import engine_adapter, follow_ups, queue
from tournaments.selectors import AnyRun
from workers.models import Worker
from workers.work import Held, Session, Turn, Work


class RunWork(Work[AnyRun]):
    """Runs of attacks and defences."""

    name = "runs"

    def waits(self) -> bool:
        return queue.anything_waits()

    def turns(self, worker: Worker, now: datetime) -> list[Turn]:
        return queue.turns(now)

    def claim(self, worker: Worker, turn: Turn, now: datetime) -> AnyRun | None:
        return queue.claim(worker, turn, now)

    def held(self) -> list[Held]:
        return queue.held_runs()

    def row(self, claim: AnyRun) -> AnyRun:
        return claim

    def longest(self, claim: AnyRun) -> timedelta:
        return engine_adapter.longest(claim.tournament)

    @contextmanager
    def session(self, claim: AnyRun) -> Iterator[Session[AnyRun]]:
        yield _RunSession()

    def log_ids(self, claim: AnyRun) -> dict[str, int]:
        return {}

    def release(self, claim: AnyRun, *, fault: str = "", host_failed: bool = False) -> bool:
        return queue.release_claim(claim, fault=fault, host_failed=host_failed)

    def expire(self) -> int:
        return queue.expire()


class _RunSession:
    """One run: players of the transfer format are started for each."""

    def play(self, claim: AnyRun) -> None:
        result = engine_adapter.play(claim)
        persist(partial(queue.commit, claim, result))
        follow_ups.announce(claim)

    def claim_next(self) -> AnyRun | None:
        return None
