"""What rounds ask of the transfer format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import IO

from django.db.models import Exists, OuterRef, QuerySet

from competitions.models import Competition, RulesVersion, SampleSet
from core import object_store
from core.errors import Fault
from formats.transfer.rounds.attack_run_table import attack_runs_of, attack_runs_table
from formats.transfer.rounds.competition_verification import verify
from formats.transfer.rounds.dashboard_part import dashboard_part
from formats.transfer.rounds.pairs_as_matches import matches_of
from formats.transfer.rounds.preview import preview
from formats.transfer.rounds.round_advancement import advance_round, frozen_tournament, tournament_of
from formats.transfer.rounds.round_as_engine_values import VERSION, body_of, check_size, commitment_to_field, record_of
from formats.transfer.rounds.round_participants import check_sides, participants, players_of
from formats.transfer.tournaments import round_tournaments
from formats.transfer.tournaments.selectors import ever_held, held_by_workers, with_open_runs
from rounds.formats import Counting, LeaderboardsContinue
from rounds.models import Round, RoundEntry
from submissions.selectors import ready_submissions


class TransferRounds(LeaderboardsContinue):
    """See `rounds.formats.RoundFormat`."""

    bundle_format = VERSION
    makes_images = True
    publication_effect = "There are no pools, and the leaderboards continue."
    schedules: Mapping[str, str] = {"all": "every attack against every defence"}

    ever_played = staticmethod(ever_held)
    advance = staticmethod(advance_round)
    dashboard_part = staticmethod(dashboard_part)
    preview = staticmethod(preview)
    find_matches = staticmethod(matches_of)
    perturbed_table = staticmethod(attack_runs_table)
    verify = staticmethod(verify)

    def counting(self, competition: Competition, at: datetime) -> Counting:
        """Return the ready submissions: teams cannot choose, and places do not seed a round of all pairs."""
        return Counting(ready_submissions())

    def check_field(self, round_: Round, entries: Sequence[RoundEntry], rules: RulesVersion) -> None:
        check_size(round_, players_of(round_.competition, entries), rules)

    def check_sides(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        check_sides(round_.competition, entries)

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Make the tournament. Nothing is played until the start."""
        if round_.rules is None:
            raise Fault(f"{round_} has no rules")
        field = participants(round_.competition, entries)
        round_tournaments.make(round_, round_.rules, field)

    def commitment_to_field(self, round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
        return commitment_to_field(round_, entries, frozen_tournament(round_), salt)

    def start(self, round_: Round) -> None:
        round_tournaments.resume(frozen_tournament(round_))

    def suspend(self, round_: Round) -> None:
        round_tournaments.suspend(frozen_tournament(round_))

    def resume(self, round_: Round) -> None:
        round_tournaments.resume(frozen_tournament(round_))

    def cancel(self, round_: Round) -> None:
        if tournament := tournament_of(round_):
            round_tournaments.end(tournament)

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> IO[bytes]:
        return body_of(round_, record_of(round_, entries, frozen_tournament(round_)))

    def playing_workers(self) -> Collection[str]:
        return held_by_workers().keys()

    def being_played(self, sets: QuerySet[SampleSet]) -> QuerySet[SampleSet]:
        return sets.filter(Exists(with_open_runs().filter(sample_set=OuterRef("pk"))))

    def perturbed_images(self, round_: Round, number: int) -> Callable[[], IO[bytes]] | None:
        run = attack_runs_of(round_).filter(pk=number, attack__given_title="").first()  # none that is hidden
        return None if run is None else partial(object_store.open_object, run.artefact)
