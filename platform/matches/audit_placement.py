"""Where the model of a played match is audited: on another host than its own, if there is one, and alone there.

Instances of a model on one kernel could talk to each other, whatever the sandbox (SECURITY.md). So a host does not play
a model while it audits it; if both are claimed at the same time, the lock of the engine lets one wait for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Max, Q, QuerySet

from matches.models import Piece
from workers.models import Worker
from workers.selectors import live_workers
from workers.worker_slot import host_of

OTHER_HOST_WAIT = timedelta(minutes=5)
"""So long an audit waits for a live host that did not play its match."""

IDLE_WAIT = timedelta(minutes=2)
"""So long it waits until its host does not play the model by itself; then the host claims no more pieces of it."""


def withheld_from(host: str, now: datetime) -> Q:
    """Return which waiting pieces no worker of `host` may claim now."""
    nothing = Q(pk__in=[])
    open_states = [Piece.State.WAITING, Piece.State.CLAIMED]
    audits = list(
        Piece.objects.filter(kind=Piece.Kind.AUDIT, state__in=open_states)
        .order_by()
        .values_list("pk", "state", "match", "match__model__digest", "match__needs_gpu", "worker__name")
    )
    if not audits:
        return nothing
    audited = {
        digest
        for _, state, _, digest, _, worker in audits
        if state == Piece.State.CLAIMED and host_of(worker or "") == host
    }
    playing = Q(match__model__digest__in=audited) | Q(match__attack__digest__in=audited)
    withheld = Q(playing, kind=Piece.Kind.PLAY) if audited else nothing
    waiting = [(pk, match, digest, gpu) for pk, state, match, digest, gpu, _ in audits if state == Piece.State.WAITING]
    if not waiting:
        return withheld
    hosts, since = _played(match for _, match, _, _ in waiting)
    live = live_workers()
    able = {gpu: _hosts(live.filter(worker_class=Worker.Class.GPU) if gpu else live) for gpu in (False, True)}
    here = _played_on(host)
    later = [
        pk
        for pk, match, digest, gpu in waiting
        if (host in hosts[match] and able[gpu] - hosts[match] and now < since[match] + OTHER_HOST_WAIT)
        or (digest in here and now < since[match] + IDLE_WAIT)
    ]
    return Q(pk__in=later) | withheld


def _hosts(workers: QuerySet[Worker]) -> set[str]:
    return {host_of(name) for name in workers.values_list("name", flat=True)}


def _played(matches: Iterable[int]) -> tuple[dict[int, set[str]], dict[int, datetime]]:
    """Return the hosts that played each match, and when its last piece was played."""
    hosts: dict[int, set[str]] = {}
    since: dict[int, datetime] = {}
    rows = Piece.objects.filter(match__in=list(matches), state=Piece.State.PLAYED).order_by()
    for match, worker, last in rows.values_list("match", "worker__name").annotate(last=Max("played_at")):
        hosts.setdefault(match, set()).add(host_of(worker or ""))
        since[match] = max(since.get(match, last), last)
    return hosts, since


def _played_on(host: str) -> set[str]:
    """Return the digests of the players in the pieces that workers of `host` play now."""
    held = Piece.objects.filter(kind=Piece.Kind.PLAY, state=Piece.State.CLAIMED).order_by()
    rows = held.values_list("match__model__digest", "match__attack__digest", "worker__name")
    return {digest for *digests, worker in rows if host_of(worker or "") == host for digest in digests}
