"""Queries of the stages of a round with their decisions, in a number of queries that does not grow with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from formats.query.rounds.models import Decision
from formats.query.tracks import ATTACK_TRACKS, MODEL
from rounds.models import Round
from rounds.selectors import StandingRow, entry_values, standings_from


@dataclass(frozen=True)
class Name:
    """Display name of a player: the title of its first entry, and its teams (several if they submitted the same)."""

    player: int
    title: str
    teams: tuple[str, ...]


@dataclass(frozen=True)
class DecisionLogLine:
    """A line of the decision log, as in `models.Decision`."""

    name: Name
    place: int
    value: float | None
    cut_line: float | None
    kept: bool
    spared: bool
    inconsistent: bool


@dataclass(frozen=True)
class StageView:
    """A finished stage: its panels, counted players, and a line for each player of each side."""

    number: int
    samples: int
    ordered_by: str
    panel_models: tuple[Name, ...]
    panel_attacks: tuple[Name, ...]
    counted_models: tuple[Name, ...]
    counted_attacks: tuple[Name, ...]
    loop: int
    renewed: bool
    models: tuple[DecisionLogLine, ...]
    attacks: tuple[DecisionLogLine, ...]


@dataclass(frozen=True)
class BracketView:
    """Finished stages of one bracket; `track_name` is its attack track."""

    track_name: str
    stages: tuple[StageView, ...]


def stages(round_: Round) -> list[BracketView]:
    """Return the brackets of a round, the first one with all models first, in three queries."""
    return _brackets(round_, entry_values(round_))


def standings_and_stages(round_: Round) -> tuple[dict[str, list[StandingRow]], list[BracketView]]:
    """Return `standings` and `stages`, in three queries: the entries and their joins are read once."""
    entries = entry_values(round_)
    return standings_from(round_, entries), _brackets(round_, entries)


def _brackets(round_: Round, entries: Iterable[Mapping[str, Any]]) -> list[BracketView]:
    by_digest, by_player = _names(entries)
    lines: dict[int, tuple[list[DecisionLogLine], list[DecisionLogLine]]] = {}
    columns = ("stage", "track__name", "player", "place", "value", "cut_line", "kept", "spared", "inconsistent")
    made = Decision.objects.filter(stage__round=round_).order_by("stage", "place")
    for stage, track_name, player, *values in made.values_list(*columns):
        sides = lines.setdefault(stage, ([], []))
        sides[track_name != MODEL].append(DecisionLogLine(by_player[player], *values))
    brackets: dict[str, list[StageView]] = {}
    for row in round_.stages.order_by("number"):
        models, attacks = lines.get(row.pk, ([], []))
        panel, counted = (
            {
                "models": tuple(by_digest[MODEL, digest] for digest in who["models"]),
                "attacks": tuple(by_digest[row.bracket, digest] for digest in who["attacks"]),
            }
            for who in (row.panel, row.counted)
        )
        view = StageView(
            number=row.number,
            samples=row.samples,
            ordered_by=row.ordered_by,
            panel_models=panel["models"],
            panel_attacks=panel["attacks"],
            counted_models=counted["models"],
            counted_attacks=counted["attacks"],
            loop=row.loop,
            renewed=row.renewed,
            models=tuple(models),
            attacks=tuple(attacks),
        )
        brackets.setdefault(row.bracket, []).append(view)
    return [BracketView(name, tuple(brackets[name])) for name in ATTACK_TRACKS if name in brackets]


def _names(entries: Iterable[Mapping[str, Any]]) -> tuple[dict[tuple[str, str], Name], dict[int, Name]]:
    by_digest: dict[tuple[str, str], Name] = {}
    for entry in sorted(entries, key=itemgetter("order")):
        key = entry["track_name"], entry["digest"]
        known = by_digest.get(key)
        title, teams = (known.title, known.teams) if known else (entry["title"], ())
        by_digest[key] = Name(entry["player_key"], title, (*teams, entry["team"]))
    return by_digest, {name.player: name for name in by_digest.values()}
