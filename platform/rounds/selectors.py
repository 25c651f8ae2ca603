"""Queries of rounds: standings, stages, decision log and progress.

Each takes a number of queries that does not grow with the round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from competitions.formats import competition_formats
from competitions.models import Track
from matches.models import Match, Piece
from rounds.models import Decision, Round, RoundEntry
from submissions.models import Submission


@dataclass(frozen=True)
class StandingRow:
    """One entry of a round. The columns from `place` on are empty until it is scored; eliminated entries have no score.

    `gone` is what became of the submission since the freeze: "withdrawn", "disqualified", "inconsistent" (it left the
    round because its audits failed), or empty. An entry that is gone is not eligible, whatever was frozen.
    """

    entry: int
    team: str
    team_slug: str
    submission: int
    title: str
    player: int
    order: int
    prior: int
    eligible: bool
    ineligible_because: str
    gone: str
    place: int | None
    stage: int | None
    value: float | None
    low: float | None
    high: float | None
    met: int | None
    opponents: int | None
    value_against_all: float | None
    rank_low: int | None
    rank_high: int | None
    separated_from_next: bool
    prize_place: int | None
    failures: int | None
    worst_opponent: str
    worst_opponent_player: int | None
    not_broken: bool
    audit_override_reason: str


_OWN = (
    *("order", "prior", "eligible", "ineligible_because", "place", "stage", "value", "low", "high", "met", "opponents"),
    *("value_against_all", "rank_low", "rank_high", "separated_from_next", "prize_place"),
    *("failures", "not_broken", "audit_override_reason"),
)
_OTHERS = {
    "track_name": F("track__name"),
    "entry": F("pk"),
    "team": F("submission__repository__entry__team__name"),
    "team_slug": F("submission__repository__entry__team__slug"),
    "submission_key": F("submission"),
    "player_key": F("player"),
    "title": F("submission__title"),
    "worst": F("worst_opponent__title"),
    "worst_opponent_player": F("worst_opponent"),
    "state": F("submission__state"),
    "disqualified": F("submission__disqualified_at"),
    "left": F("inconsistent"),
    "digest": F("player__digest"),
}


def standings(round_: Round) -> dict[str, list[StandingRow]]:
    """Return the entries of a round by track name, best first (in the order of entry until it is scored); one query."""
    return _standings(round_, _entries(round_))


def _entries(round_: Round) -> list[dict[str, Any]]:
    """Return the entries with everything that pages show, by track, best first."""
    entries = RoundEntry.objects.filter(round=round_).order_by("track", F("place").asc(nulls_last=True), "order")
    return list(entries.values(*_OWN, **_OTHERS))


def _standings(round_: Round, entries: Iterable[Mapping[str, Any]]) -> dict[str, list[StandingRow]]:
    tracks = competition_formats.of(round_.competition).tracks
    rows: dict[str, list[StandingRow]] = {track.name: [] for track in tracks}
    for entry in entries:
        values = {name: value for name, value in entry.items() if name not in {"track_name", "digest"}}
        rows[entry["track_name"]].append(_standing(values))
    return rows


def _standing(values: dict[str, Any]) -> StandingRow:
    disqualified, withdrawn = values.pop("disqualified"), values.pop("state") == Submission.State.WITHDRAWN
    left = values.pop("left")
    gone = "disqualified" if disqualified else "withdrawn" if withdrawn else "inconsistent" if left else ""
    if gone and values["eligible"]:
        because = "it failed its audits" if gone == "inconsistent" else f"it was {gone}"
        values |= {"eligible": False, "ineligible_because": because}
    return StandingRow(
        gone=gone,
        worst_opponent=values.pop("worst") or "",
        submission=values.pop("submission_key"),
        player=values.pop("player_key"),
        **values,
    )


@dataclass(frozen=True)
class Name:
    """Display name of a player: the title of its first entry, and its teams (several if they submitted the same)."""

    player: int
    title: str
    teams: tuple[str, ...]


@dataclass(frozen=True)
class Line:
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
    models: tuple[Line, ...]
    attacks: tuple[Line, ...]


@dataclass(frozen=True)
class BracketView:
    """Finished stages of one bracket; `track_name` is its attack track."""

    track_name: str
    stages: tuple[StageView, ...]


def stages(round_: Round) -> list[BracketView]:
    """Return the brackets of a round, the first one with all models first, in three queries."""
    return _brackets(round_, _entries(round_))


def standings_and_stages(round_: Round) -> tuple[dict[str, list[StandingRow]], list[BracketView]]:
    """Return `standings` and `stages`, in three queries: the entries and their joins are read once."""
    entries = _entries(round_)
    return _standings(round_, entries), _brackets(round_, entries)


def _brackets(round_: Round, entries: Iterable[Mapping[str, Any]]) -> list[BracketView]:
    by_digest, by_player = _names(entries)
    lines: dict[int, tuple[list[Line], list[Line]]] = {}
    columns = ("stage", "track__name", "player", "place", "value", "cut_line", "kept", "spared", "inconsistent")
    made = Decision.objects.filter(stage__round=round_).order_by("stage", "place")
    for stage, track_name, player, *values in made.values_list(*columns):
        sides = lines.setdefault(stage, ([], []))
        sides[track_name != Track.Name.MODEL].append(Line(by_player[player], *values))
    brackets: dict[str, list[StageView]] = {}
    for row in round_.stages.order_by("number"):
        models, attacks = lines.get(row.pk, ([], []))
        panel, counted = (
            {
                "models": tuple(by_digest[Track.Name.MODEL, digest] for digest in who["models"]),
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
    order = (Track.Name.UNTARGETED.value, Track.Name.TARGETED.value)
    return [BracketView(track_name, tuple(brackets[track_name])) for track_name in order if track_name in brackets]


def _names(entries: Iterable[Mapping[str, Any]]) -> tuple[dict[tuple[str, str], Name], dict[int, Name]]:
    by_digest: dict[tuple[str, str], Name] = {}
    for entry in sorted(entries, key=itemgetter("order")):
        key = entry["track_name"], entry["digest"]
        known = by_digest.get(key)
        title, teams = (known.title, known.teams) if known else (entry["title"], ())
        by_digest[key] = Name(entry["player_key"], title, (*teams, entry["team"]))
    return by_digest, {name.player: name for name in by_digest.values()}


def decisions(
    round_: Round,
    *,
    bracket: str = "",
    stage: int | None = None,
    track: str = "",
    kept: bool | None = None,
    players: Iterable[int] | None = None,
) -> QuerySet[Decision]:
    """Return the decision log in order, with stages and players; each given filter narrows it."""
    given = {
        "stage__bracket": bracket or None,
        "stage__number": stage,
        "track__name": track or None,
        "kept": kept,
        "player__in": players,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    rows = Decision.objects.filter(stage__round=round_, **chosen).select_related("stage", "track", "player")
    return rows.order_by("-stage__bracket", "stage__number", "track", "place")


@dataclass(frozen=True)
class Progress:
    """Progress of a round: triples played and requested, its matches, and those with a platform error.

    More may be requested until it is scored; `estimate` gives the maximum.
    """

    done: int
    left: int
    matches: int
    faults: Sequence[Match]


def progress(round_: Round) -> Progress:
    """Return the progress of a round, in three queries."""
    played = Q(state=Piece.State.PLAYED)
    counts = Piece.objects.filter(match__round_match__round=round_).aggregate(
        done=Sum("count", filter=played, default=0),
        left=Sum("count", filter=~played, default=0),
    )
    matches = Match.objects.filter(round_match__round=round_)
    total = matches.aggregate(total=Count("pk"))["total"]
    failed = matches.filter(state=Match.State.FAILED).select_related("model", "attack").order_by("pk")
    return Progress(counts["done"], counts["left"], total, list(failed))
