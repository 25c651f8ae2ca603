"""How the tables of the curves format are archived with a competition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from competitions.models import Competition
from formats.curves.benchmark_work import benchmarks
from formats.curves.models import Benchmark, Proof
from operations.archives.extension_points import ArchivedTables, StoredObjects, archived_tables


@archived_tables.add
def tables() -> ArchivedTables:
    """Return the objects of the format; none of its values contains a key."""
    return ArchivedTables(
        objects=(StoredObjects(Benchmark, "result"), StoredObjects(Proof, "content")),
        open=_open,
    )


def _open(competition: Competition) -> Sequence[tuple[QuerySet[Any], str]]:
    waiting = Benchmark.objects.filter(round=None, rules__competition=competition, state=Benchmark.State.WAITING)
    waiting = waiting.exclude(pk__in=benchmarks.needless().values("pk"))
    proofs = Proof.objects.filter(round_entry__round__competition=competition, state=Proof.State.WAITING)
    return [(waiting, "benchmarks that wait"), (proofs, "proofs that wait for their verification")]
