"""Queries of rounds: their entries and standings, in a number of queries that does not grow with the round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from competitions.formats import competition_formats
from rounds.models import Round, RoundEntry
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
    return standings_from(round_, entry_values(round_))


def entry_values(round_: Round) -> list[dict[str, Any]]:
    """Return the entries with everything that pages show, by track, best first; one query."""
    entries = RoundEntry.objects.filter(round=round_).order_by("track", F("place").asc(nulls_last=True), "order")
    return list(entries.values(*_OWN, **_OTHERS))


def standings_from(round_: Round, entries: Iterable[Mapping[str, Any]]) -> dict[str, list[StandingRow]]:
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
