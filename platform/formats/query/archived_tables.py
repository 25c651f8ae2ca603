"""How the tables of the query format are archived with a competition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from competitions.models import Competition
from formats.query.challenges.models import Challenge
from formats.query.leaderboards.models import Evaluation, Rejudging, Snapshot
from formats.query.matches.models import Match, Piece
from formats.query.rounds.models import RoundMatch
from operations.archives.extension_points import (
    ArchivedTables,
    KeysInValues,
    NewNames,
    StoredObjects,
    archived_tables,
)
from rounds.models import Objection
from submissions.models import Player, Submission


@archived_tables.add
def tables() -> ArchivedTables:
    """Return the objects and the keys in values of the format."""
    return ArchivedTables(
        objects=(
            StoredObjects(Piece, "artefact"),
            StoredObjects(Challenge, "images"),
        ),
        keys=(
            KeysInValues(Snapshot, "rows", (Submission, Match), _snapshot),
            KeysInValues(Evaluation, "per_opponent", (Player,), _per_opponent),
            KeysInValues(Objection, "match", (Match,), _match),
        ),
        # the frames for audits are secret and go with them; archives of pairs are made again when they are asked for
        cleared={Piece: {"kept": ""}, RoundMatch: {"images": ""}},
        open=_open,
    )


def _open(competition: Competition) -> Sequence[tuple[QuerySet[Any], str]]:
    playing = Evaluation.objects.filter(rules__competition=competition, state=Evaluation.State.PLAYING)
    settled = (Rejudging.State.PUBLISHED, Rejudging.State.DISCARDED)
    return [
        (playing, "unfinished evaluations"),
        (competition.rejudgings.exclude(state__in=settled), "rejudgings that are not settled"),
    ]


def _snapshot(rows: Any, new: NewNames) -> Any:
    renamed = []
    for row in rows:
        slug, name = new.team(row["team_slug"])
        match = row.get("hardest_match")
        renamed.append(
            row
            | {"team_slug": slug, "team": name, "submission": new.key(Submission, row["submission"])}
            | ({"hardest_match": new.key(Match, match)} if match is not None else {})
        )
    return renamed


def _per_opponent(rows: Any, new: NewNames) -> Any:
    return [row | {"player": new.key(Player, row["player"])} for row in rows]


def _match(value: Any, new: NewNames) -> Any:
    return str(new.key(Match, int(value))) if value.isdigit() else value
