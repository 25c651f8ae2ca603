"""Rounds of the transfer format: every attack meets every defence, in a tournament with a fixed field.

The field consists of the entries of the round and of the competition's baselines, which are opponents without a place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING

from competitions.models import Competition, RulesVersion, Track
from core import clock, object_store
from core.errors import Fault, Refusal
from rounds.models import Round, RoundEntry
from rounds.preview import Moved, Preview, gone_of
from formats.transfer.rounds.engine_adapter import body_of, check_transfer_size, commitment_to_transfer_field, record_of
from formats.transfer.rounds.downloads import attack_runs_of, attack_runs_table
from formats.transfer.rounds.progression import advance_transfer_round, tournament_of
from submissions.models import Player
from tournaments import fixed_fields
from tournaments.boards import tournament_in_force
from tournaments.selectors import ATTACKING, Participant, baseline_players, current_entrants

if TYPE_CHECKING:
    from accounts.models import User


class TransferFormat:
    """See `rounds.formats.RoundFormat`."""

    def schedule(self, schedule: str, *, guard: bool) -> tuple[Round.Schedule, bool]:
        return Round.Schedule.ALL, False

    def check_field(self, round_: Round, entries: Sequence[RoundEntry], rules: RulesVersion) -> None:
        check_transfer_size(round_, _players(round_, entries), rules)

    def check_sides(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        _check_baselines(round_.competition)
        if not entries:
            raise Refusal(
                "no submission was ready when the window began",
                fix="cancel this round, and plan another when there is one",
            )
        attacking = {track.name in ATTACKING for track, _ in _players(round_, entries)}
        for needed, name in ((True, "attack"), (False, "defence")):
            if needed not in attacking:
                raise Refusal(
                    f"no {name} was ready when the window began, and the competition has no {name} as a baseline",
                    fix="cancel this round, and plan another when there is one",
                )

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Make the tournament. Nothing is played until the start."""
        if round_.rules is None:
            raise Fault(f"{round_} has no rules")
        now = clock.database_now()
        field = [Participant(entry.track, entry.player, entry.submission, now) for entry in entries]
        field += [Participant(track, player, None, now) for track, player in baseline_players(round_.competition)]
        round_.tournament = fixed_fields.make(round_.rules, round_.sample_set, field)
        round_.save(update_fields=["tournament"])

    def commitment_to_field(self, round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
        return commitment_to_transfer_field(round_, entries, tournament_of(round_), salt)

    def start(self, round_: Round) -> None:
        fixed_fields.resume(tournament_of(round_))

    def suspend(self, round_: Round) -> None:
        fixed_fields.suspend(tournament_of(round_))

    def resume(self, round_: Round) -> None:
        fixed_fields.resume(tournament_of(round_))

    def cancel(self, round_: Round) -> None:
        if round_.tournament is not None:
            fixed_fields.end(round_.tournament)

    def advance(self, round_: Round) -> None:
        advance_transfer_round(round_)

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> bytes:
        return body_of(round_, record_of(round_, entries, tournament_of(round_)))

    def preview(self, round_: Round) -> list[Preview]:
        """Return the places of each track next to the ranks on the leaderboard. There are no pools."""
        board = tournament_in_force(round_.competition)
        ranks = {
            (row.track_id, row.submission.repository.entry_id): row.rank
            for row in (current_entrants(board) if board else ())
            if row.submission is not None
        }
        entries = list(
            round_.entries.filter(place__isnull=False)
            .select_related("track", "player", "submission__repository__entry__team")
            .order_by("place", "order")
        )
        return [
            Preview(track, (), (), [_moved(entry, ranks) for entry in entries if entry.track_id == track.pk])
            for track in round_.competition.tracks.all()
        ]

    def publish(self, round_: Round, views: Sequence[Preview], by: User) -> None:
        """Do nothing: the leaderboards continue."""

    def perturbed_table(self, round_: Round) -> bytes:
        return attack_runs_table(round_)

    def perturbed_images(self, round_: Round, number: int) -> Callable[[], IO[bytes]] | None:
        run = attack_runs_of(round_).filter(pk=number).first()
        return None if run is None else partial(object_store.open_object, run.artefact)


def _players(round_: Round, entries: Sequence[RoundEntry]) -> list[tuple[Track, Player]]:
    return [*((entry.track, entry.player) for entry in entries), *baseline_players(round_.competition)]


def _check_baselines(competition: Competition) -> None:
    """Raise `Refusal` while a baseline is not built: it belongs to the field."""
    built = {(track.name, player.baseline) for track, player in baseline_players(competition)}
    missing = [
        f"{name} ({track.name})"
        for track in competition.tracks.all()
        for name in track.baselines
        if (track.name, name) not in built
    ]
    if missing:
        raise Refusal(
            f"these baselines are not built yet: {', '.join(missing)}",
            fix="wait until a worker has built them; if none does, see its log",
        )


def _moved(entry: RoundEntry, ranks: dict[tuple[int, int], int | None]) -> Moved:
    repository = entry.submission.repository
    score = "no opponent counts" if entry.value is None else f"score {entry.value:.4f}"
    return Moved(
        team=repository.entry.team.name,
        title=entry.submission.title,
        rank_before=ranks.get((entry.track_id, repository.entry_id)),
        place=entry.place,
        why=f"{score}, over {entry.opponents} opponents" if entry.opponents else score,
        gone=gone_of(entry),
        failed_audits=0,
        audit_override_reason="",
    )
