"""How the tables of the curves format are archived with a competition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet

from competitions.models import Competition
from formats.curves.models import Benchmark, Proof
from operations.archives.extension_points import ArchivedTables, StoredObjects, archived_tables
from submissions.models import Submission


@archived_tables.add
def tables() -> ArchivedTables:
    """Return the objects of the format; none of its values contains a key."""
    return ArchivedTables(
        objects=(StoredObjects(Benchmark, "result"), StoredObjects(Proof, "content")),
        open=_open,
    )


def _open(competition: Competition) -> Sequence[tuple[QuerySet[Any], str]]:
    needed = Q(round=None, submission__state=Submission.State.READY, submission__disqualified_at=None)
    waiting = Benchmark.objects.filter(needed, rules__competition=competition, state=Benchmark.State.WAITING)
    proofs = Proof.objects.filter(round_entry__round__competition=competition, state=Proof.State.WAITING)
    return [(waiting, "benchmarks that wait"), (proofs, "proofs that wait for their verification")]
