"""How the tables of the transfer format are archived with a competition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from competitions.models import Competition
from formats.transfer.tournaments.models import AttackRun, DefenceRun, RepeatRun
from formats.transfer.tournaments.selectors import with_open_runs
from operations.archives.extension_points import (
    ArchivedTables,
    KeysInValues,
    NewNames,
    StoredObjects,
    archived_tables,
)
from rounds.models import Objection
from submissions.models import Player


@archived_tables.add
def tables() -> ArchivedTables:
    """Return the objects and the keys in values of the format."""
    return ArchivedTables(
        objects=(StoredObjects(AttackRun, "artefact"),),
        keys=(
            KeysInValues(RepeatRun, "images", (DefenceRun,), _images),
            KeysInValues(Objection, "match", (Player,), _pair),
        ),
        open=_open,
    )


def _open(competition: Competition) -> Sequence[tuple[QuerySet[Any], str]]:
    return [(with_open_runs().filter(competition=competition), "tournaments with runs that wait")]


def _images(images: Any, new: NewNames) -> Any:
    return [[new.key(DefenceRun, run), index] for run, index in images]


def _pair(value: Any, new: NewNames) -> Any:
    """Return the key of a pair, "attack/defence"."""
    if "/" not in value:
        return value
    return "/".join(str(new.key(Player, int(key))) for key in value.split("/"))
