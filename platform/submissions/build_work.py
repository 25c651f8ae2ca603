"""Builds as work of the builders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from core import clock
from submissions import build_order, build_queue
from submissions.build_outcomes import FAULT, HOST, STOPPED
from submissions.models import Build
from submissions.pipeline import BuildSession, clean_text
from workers.lease import Heartbeat
from workers.models import Worker
from workers.work_kind_interface import Held, PlaySession, Turn, Work

LONGEST = timedelta(days=1)
"""More than any build and smoke test may take: the deadline of the submission's state ends them earlier."""


class BuildWork(Work[Build]):
    """Submissions that wait for a build and a smoke test."""

    name = "builds"
    role = build_order.BUILD

    def waits(self) -> bool:
        return build_order.waiting_builds(clock.database_now()).exists()

    def turns(self, worker: Worker, now: datetime) -> list[Turn]:
        return build_order.turns(now)

    def claim(self, worker: Worker, turn: Turn, now: datetime) -> Build | None:
        while (key := build_order.next_build(turn.entry, now)) is not None:
            build = build_queue.claim(key, worker.name)
            if build is not None:
                return build
        return None

    def held(self) -> list[Held]:
        return build_order.held_builds()

    def row(self, claim: Build) -> Build:
        return claim

    def longest(self, claim: Build) -> timedelta:
        return LONGEST

    @contextmanager
    def session(self, claim: Build, heartbeat: Heartbeat) -> Iterator[PlaySession[Build]]:
        session = BuildSession(claim, heartbeat)
        with heartbeat.also(session.writer.flush):
            yield session

    def log_ids(self, claim: Build) -> dict[str, int]:
        return {"submission": claim.submission_id, "build": claim.pk}

    def step(self, claim: Build) -> str:
        return "build attempt"

    def traced(self, claim: Build) -> list[int]:
        return [claim.submission_id]

    def release(self, claim: Build, *, fault: str = "", host_failed: bool = False) -> bool:
        outcome = HOST if host_failed else FAULT if fault else STOPPED
        return build_queue.release_claim(claim, outcome, clean_text(fault))

    def expire(self) -> int:
        return build_queue.expire()


builds = BuildWork()
