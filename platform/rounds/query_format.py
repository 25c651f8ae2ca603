"""Rounds of the query format: matches in stages, then new pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING

from django.db.models import QuerySet

from competitions.models import RulesVersion, Track
from core import object_store
from core.errors import Refusal
from leaderboards.board_freeze import take_snapshot
from leaderboards.services import set_pool
from matches import services as matches
from matches.models import Match
from rounds.archive_limit import making_archive
from rounds.downloads import pair_zip, pairs_of, pairs_table
from rounds.engine_adapter import check_field, commitment_to_field, facts_of, outcome_of
from rounds.models import Round, RoundEntry
from rounds.preview import Preview, players_gone, preview
from rounds.progression import advance_round
from submissions.models import Submission

if TYPE_CHECKING:
    from accounts.models import User

_NEEDED = (Track.Name.MODEL, Track.Name.UNTARGETED)
"""Without these tracks nothing can be ranked. A round can run without targeted attacks."""


class QueryFormat:
    """See `rounds.formats.RoundFormat`."""

    def schedule(self, schedule: str, *, guard: bool) -> tuple[Round.Schedule, bool]:
        known = [each.value for each in Round.Schedule if each is not Round.Schedule.ALL]
        if schedule not in known:
            raise Refusal(f"{schedule!r} is not a schedule", fix=f"choose one of {', '.join(known)}")
        if guard and schedule != Round.Schedule.LADDER:
            raise Refusal(
                f"the schedule {schedule} has no guarded cuts", fix="choose the panel ladder, or turn guarded cuts off"
            )
        return Round.Schedule(schedule), guard

    def check_field(self, round_: Round, entries: Sequence[RoundEntry], rules: RulesVersion) -> None:
        check_field(round_, entries, rules)

    def check_sides(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        _check_sides(entries)

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Do nothing: each step requests its matches."""

    def commitment_to_field(self, round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
        return commitment_to_field(round_, entries, salt)

    def start(self, round_: Round) -> None:
        """Do nothing: the first step requests the first matches."""

    def suspend(self, round_: Round) -> None:
        matches.suspend(_matches(round_))

    def resume(self, round_: Round) -> None:
        matches.resume(_matches(round_))

    def cancel(self, round_: Round) -> None:
        matches.cancel(_matches(round_))

    def advance(self, round_: Round) -> None:
        advance_round(round_)

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> bytes:
        return outcome_of(round_, facts_of(round_), entries)

    def preview(self, round_: Round) -> list[Preview]:
        return preview(round_)

    def publish(self, round_: Round, views: Sequence[Preview], by: User) -> None:
        """Make the best of each track its pool, and keep the previous leaderboards as snapshots."""
        round_.gone.set(_gone(round_, views))
        for view in views:
            take_snapshot(track=view.track, reason=f"before {round_.title} was published")
            if not view.rows:
                continue
            if not view.pool_after:
                raise Refusal(
                    f"the {view.track.name} pool would be empty: every entry is withdrawn or disqualified",
                    fix="reinstate one of them, or cancel the round",
                )
            round_.pools.add(set_pool(track=view.track, players=view.pool_after, reason=round_.title, by=by))

    def perturbed_table(self, round_: Round) -> bytes:
        return pairs_table(round_)

    def perturbed_images(self, round_: Round, number: int) -> Callable[[], IO[bytes]] | None:
        match = pairs_of(round_).filter(pk=number).first()
        return None if match is None else partial(_images_of, match)


def _matches(round_: Round) -> QuerySet[Match]:
    return Match.objects.filter(round_match__round=round_)


def _check_sides(entries: Sequence[RoundEntry]) -> None:
    owners: dict[str, dict[int | None, int]] = {track_name: {} for track_name in _NEEDED}
    for entry in sorted(entries, key=lambda entry: entry.order):
        if entry.track.name in owners:
            # the first team to submit equal content owns it: a copy does not make a pair of two teams
            owners[entry.track.name].setdefault(entry.player_id, entry.submission.repository.entry_id)
    for track_name, players in owners.items():
        if not players:
            raise Refusal(
                f"no submission to the {track_name} track was ready when the window began",
                fix="cancel this round, and plan another when there is one",
            )
    if len({team for of in owners.values() for team in of.values()}) == 1:
        raise Refusal(
            "all entries belong to one team or are copies, and a team's attack is not scored on its own models",
            fix="cancel this round, and plan another when a second team has entered",
        )


def _gone(round_: Round, views: Sequence[Preview]) -> set[int]:
    """Return the keys of the players that may join no pool now. Their submissions may be reinstated later."""
    placed = round_.entries.filter(place__isnull=False)
    standing = placed.filter(submission__disqualified_at=None).exclude(submission__state=Submission.State.WITHDRAWN)
    entrants = placed.exclude(player__in=standing.values("player")).values_list("player", flat=True)
    return {*entrants, *players_gone([player for view in views for player in view.pool_before])}


def _images_of(pair: Match) -> IO[bytes]:
    """Return the archive of a pair, made on its first request: too many to make all at the release."""
    row = pair.round_match
    if not row.images or object_store.size(row.images) is None:
        with making_archive():
            row.images = object_store.put(pair_zip(pair))
        row.save(update_fields=["images"])
    return object_store.open_object(row.images)
