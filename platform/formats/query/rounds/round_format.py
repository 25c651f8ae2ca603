"""What rounds ask of the query format."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import IO

from django.db.models import Exists, OuterRef, QuerySet

from competitions.board_freezes import frozen_since
from competitions.models import Competition, SampleSet
from formats.query.leaderboards.evaluation_basis import counted_at, counting, places_at, valid_baselines
from formats.query.leaderboards.submission_choices import chosen_by_track, chosen_keys
from formats.query.matches import services as matches
from formats.query.matches.models import Match, Piece
from formats.query.matches.selectors import ever_played
from formats.query.rounds.competition_verification import verify
from formats.query.rounds.dashboard_part import dashboard_part
from formats.query.rounds.pair_archives import open_images, pairs_of, pairs_table
from formats.query.rounds.planning import RoundSchedule, check_sides, chosen_schedule, plan_fields
from formats.query.rounds.pool_publication import publish_pools
from formats.query.rounds.preview import preview
from formats.query.rounds.round_advancement import OPEN_STATES, advance_round
from formats.query.rounds.round_as_engine_values import (
    BUNDLE_FORMAT,
    check_field,
    commitment_to_field,
    facts_of,
    outcome_of,
)
from rounds.formats import Counting, MatchInRound
from rounds.models import Round, RoundEntry
from submissions.models import Player

_KEY = re.compile(r"[1-9][0-9]{0,17}")
"""The key of a match, as the address of its page has it."""


class QueryRounds:
    """See `rounds.formats.RoundFormat`."""

    bundle_format = BUNDLE_FORMAT
    makes_images = True
    publication_effect = (
        "The best of each track become its pool, and submissions are measured again against the new pools."
    )
    schedules: Mapping[str, str] = dict(RoundSchedule.choices)

    plan_fields = staticmethod(plan_fields)
    schedule = staticmethod(chosen_schedule)
    check_field = staticmethod(check_field)
    commitment_to_field = staticmethod(commitment_to_field)
    advance = staticmethod(advance_round)
    dashboard_part = staticmethod(dashboard_part)
    preview = staticmethod(preview)
    publish = staticmethod(publish_pools)
    perturbed_table = staticmethod(pairs_table)
    verify = staticmethod(verify)

    def ever_played(self, source: SampleSet) -> bool:
        return ever_played(source)

    def counting(self, competition: Competition, at: datetime) -> Counting:
        tracks = list(competition.tracks.all())
        chosen = chosen_by_track(tracks, at)
        return Counting(
            submissions=counting(counted_at(at)),
            chosen=chosen_keys(chosen.values()),
            places=places_at(tracks, at, chosen),
            baselines=valid_baselines(),
        )

    def check_sides(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        check_sides(entries)

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Do nothing: each step requests its matches."""

    def start(self, round_: Round) -> None:
        """Do nothing: the first step requests the first matches."""

    def suspend(self, round_: Round) -> None:
        matches.suspend(_matches(round_))

    def resume(self, round_: Round) -> None:
        matches.resume(_matches(round_))

    def cancel(self, round_: Round) -> None:
        matches.cancel(_matches(round_))

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> IO[bytes]:
        return outcome_of(round_, facts_of(round_), entries)

    def playing_workers(self) -> Collection[str]:
        return set(Piece.objects.filter(state=Piece.State.CLAIMED).values_list("worker__name", flat=True))

    def future_opponents(self, competition: Competition) -> QuerySet[Player]:
        return Player.objects.filter(pool_places__pool__track__competition=competition)

    def secret_order_since(self, round_: Round) -> datetime | None:
        return frozen_since(round_.competition)

    def find_matches(self, round_: Round, keys: Collection[str]) -> Mapping[str, MatchInRound]:
        found = pairs_of(round_).filter(pk__in=[int(key) for key in keys if _KEY.fullmatch(key)])
        return {
            str(each.pk): MatchInRound(f"{each.attack.title} against {each.model.title}", (each.attack, each.model))
            for each in found
        }

    def being_played(self, sets: QuerySet[SampleSet]) -> QuerySet[SampleSet]:
        return sets.filter(Exists(Match.objects.filter(sample_set=OuterRef("pk"), state__in=OPEN_STATES)))

    def perturbed_images(self, round_: Round, number: int) -> Callable[[], IO[bytes]] | None:
        match = pairs_of(round_).filter(pk=number, attack__given_title="").first()  # none that a hidden attack made
        return None if match is None else partial(open_images, match)


def _matches(round_: Round) -> QuerySet[Match]:
    return Match.objects.filter(round_match__round=round_)
