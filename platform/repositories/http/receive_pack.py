"""The answers to git's hooks for one push: ref rules and size, then the push gate."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import connections

from core import clock, faults
from core.errors import Refusal
from repositories.git_reader import GitReader
from repositories.http.hook_channel import HookRequest, HookResponse
from repositories.push_gate import Push, PushGate, RefUpdate
from repositories.push_messages import FAULT, LATE_FAULT, printable, refusal_text
from repositories.ref_rules import check_refs, ref_limits_in_force
from repositories.services import record_push, size_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReceivePack:
    """Answers to git's hooks for one push; `push` has no updates until a hook sends them."""

    gate: PushGate
    push: Push

    def answer(self, request: HookRequest) -> HookResponse:
        """Accept or reject the push, with the message for the pusher."""
        push = replace(self.push, updates=_updates(request.lines), environment=request.environment)
        try:
            return self._before(push) if request.hook == "pre-receive" else self._after(push)
        finally:
            close_connections()

    def _before(self, push: Push) -> HookResponse:
        try:
            _check_refs(push)
            _check_size(push)
            return HookResponse(0, printable(self.gate.before(push)))
        except Refusal as refusal:
            return HookResponse(1, printable(refusal_text(refusal, clock.now())))
        except Exception as error:
            faults.report(log, error, "the push gate failed before a push of %s to %s", push.user, push.repository)
            return HookResponse(1, FAULT)

    def _after(self, push: Push) -> HookResponse:
        try:
            record_push(push.repository)
            return HookResponse(0, printable(self.gate.after(push)))
        except Exception as error:
            faults.report(log, error, "the push gate failed after a push of %s to %s", push.user, push.repository)
            return HookResponse(0, LATE_FAULT)


def close_connections() -> None:
    """Close idle database connections: a push may take minutes, and needs no database meanwhile."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def _updates(lines: str) -> Sequence[RefUpdate]:
    return tuple(RefUpdate(*line.split(" ", 2)) for line in lines.split("\n") if line)


def _check_refs(push: Push) -> None:
    with GitReader(push.repository.path) as reader:
        check_refs(push.updates, reader.refs(), ref_limits_in_force())


def _check_size(push: Push) -> None:
    limit: int = settings.MAX_REPOSITORY_BYTES
    if all(update.deletes for update in push.updates):
        return
    size = size_of(push.repository.path)
    if size > limit:
        raise Refusal(
            f"the repository would hold {size >> 20:,} MiB with this push; at most {limit >> 20:,} MiB are allowed",
            fix="push fewer or smaller files, or ask an organiser for more space",
        )
