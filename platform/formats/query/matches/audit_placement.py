"""Where the model of a played match is audited: on another host than its own, if there is one, and alone there.

Instances of a model on one kernel could talk to each other, whatever the sandbox (SECURITY.md), and another player of
its team could repeat what it heard. So a host plays no player of a team while it audits a model of it; if both are
claimed at the same time, the lock of the engine lets one wait for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache

from django.db.models import Max, Q

from formats.query.matches.models import Piece
from workers.models import Worker
from workers.selectors import live_hosts
from workers.worker_name import host_of

OTHER_HOST_WAIT = timedelta(minutes=5)
"""So long an audit waits for a live host that did not play its match."""

IDLE_WAIT = timedelta(minutes=2)
"""So long it waits until its host plays nothing of the team by itself; then the host claims no more pieces of it."""

_TEAM = "repository__entry__team"


def withheld_from(host: str, now: datetime) -> Q:
    """Return which waiting pieces no worker of `host` may claim now."""
    nothing = Q(pk__in=[])
    open_states = [Piece.State.WAITING, Piece.State.CLAIMED]
    audits = list(
        Piece.objects.filter(kind=Piece.Kind.AUDIT, state__in=open_states)
        .order_by()
        .values_list(
            "pk", "state", "match", "match__model__digest", f"match__model__{_TEAM}", "match__needs_gpu", "worker__name"
        )
    )
    if not audits:
        return nothing
    audited = [
        (digest, team)
        for _, state, _, digest, team, _, worker in audits
        if state == Piece.State.CLAIMED and host_of(worker or "") == host
    ]
    withheld = Q(_plays(audited), kind=Piece.Kind.PLAY) if audited else nothing
    waiting = [
        (pk, match, {digest, team}, gpu)
        for pk, state, match, digest, team, gpu, _ in audits
        if state == Piece.State.WAITING
    ]
    if not waiting:
        return withheld
    hosts, since = _played(match for _, match, _, _ in waiting)
    able = cache(lambda gpu: live_hosts(gpu=gpu))  # few claims ask, and the answer names every worker
    here = _played_on(host)
    later = [
        pk
        for pk, match, audited_one, gpu in waiting
        if (host in hosts[match] and now < since[match] + OTHER_HOST_WAIT and able(gpu) - hosts[match])
        or (here & audited_one and now < since[match] + IDLE_WAIT)
    ]
    return Q(pk__in=later) | withheld


def _plays(players: Iterable[tuple[str, int | None]]) -> Q:
    """Return which pieces play one of `players`, by digest and team, or another player of their teams."""
    digests, teams = zip(*players, strict=True)
    named = [team for team in teams if team is not None]
    found = Q(pk__in=[])
    for side in ("model", "attack"):
        found |= Q(**{f"match__{side}__digest__in": digests}) | Q(**{f"match__{side}__{_TEAM}__in": named})
    return found


def _played(matches: Iterable[int]) -> tuple[dict[int, set[str]], dict[int, datetime]]:
    """Return the hosts that played each match, and when its last piece was played."""
    hosts: dict[int, set[str]] = {}
    since: dict[int, datetime] = {}
    rows = Piece.objects.filter(match__in=list(matches), state=Piece.State.PLAYED).order_by()
    for match, worker, last in rows.values_list("match", "worker__name").annotate(last=Max("played_at")):
        hosts.setdefault(match, set()).add(host_of(worker or ""))
        since[match] = max(since.get(match, last), last)
    return hosts, since


def _played_on(host: str) -> set[str | int]:
    """Return the digests, and the keys of the teams, of the players that workers of `host` play now."""
    # asked with every claim while an audit waits: so only its own workers, by keys, which are few
    names = Worker.objects.filter(name__startswith=host).values_list("pk", "name")
    own = [pk for pk, name in names if host_of(name) == host]
    held = Piece.objects.filter(kind=Piece.Kind.PLAY, state=Piece.State.CLAIMED, worker__in=own)
    columns = [f"match__{side}__{what}" for side in ("model", "attack") for what in ("digest", _TEAM)]
    rows = held.order_by().values_list(*columns).distinct()
    return {key for keys in rows for key in keys if key is not None}
