"""Pieces whose frames another host repeats in the audit of their match, and those of hosts that differed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from django.db.models import QuerySet

from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import AuditedPiece
from workers import host_comparisons
from workers.models import HostComparison
from workers.selectors import live_hosts, of_drained_hosts
from workers.worker_name import host_of

REPEATED = 0.01
"""Share of the pieces of bundled models that are audited for the hosts' sake. Those of other models are all audited."""


def chosen(match: Match, host: str) -> bool:
    """Return True if frames of the next piece of `match`, played on `host`, are kept so that another host repeats them.

    With one live host that could, nothing is.
    """
    drawn = bool(match.model.baseline) and random.random() < REPEATED
    return drawn and bool(live_hosts(gpu=match.needs_gpu) - {host})


def comparisons(match: Match, host: str, audited: Sequence[AuditedPiece]) -> list[HostComparison]:
    """Return what an audit of `match` on `host` says of the hosts that played its pieces, one row for each."""
    rows = Piece.objects.filter(pk__in=[each.piece for each in audited]).values_list("pk", "worker__name")
    played_on = {key: host_of(worker or "") for key, worker in rows}
    model = match.model
    return host_comparisons.sums(
        ((played_on[each.piece], each.compared, each.unequal) for each in audited),
        subject=match,
        player=model.digest,
        entry=model.repository.entry if model.repository is not None and not model.baseline else None,
        repeated_on=host,
    )


def doubtful_pieces() -> QuerySet[Piece]:
    """Return the pieces that hosts claimed before they were drained, and played."""
    doubtful = of_drained_hosts("worker__name")
    return Piece.objects.filter(doubtful, kind=Piece.Kind.PLAY, state=Piece.State.PLAYED)
