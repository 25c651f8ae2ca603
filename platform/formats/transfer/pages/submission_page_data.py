"""What the page of a submission shows in the transfer format: its standing or progress, its pairs, and its runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db import models
from django.http import HttpRequest

from competitions.board_freezes import frozen_since, sees_live
from evaluation.formats.transfer.results import PairCounts
from formats.transfer.pages.entrant_names import name_of
from formats.transfer.pages.rank_explanation import explanation_of
from formats.transfer.pages.run_notes import RUNS_PER_PAGE, notes_of, row_notes_of
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.boards import (
    TransferBoardRow,
    in_order,
    is_held_up,
    progress_of_submission,
    row_of,
    tournament_in_force,
)
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, Run, Tournament
from formats.transfer.tournaments.pair_tables import share_of_points
from formats.transfer.tournaments.selectors import current_entrants, repeat_counts
from formats.transfer.tracks import ATTACK_TRACKS, DEFENCE, TARGETED_ATTACK
from pages.formats import SubmissionContent
from pages.player_names import PlayerName
from pages.submission.progress_steps import steps_of
from pages.submission.rank_explanation import RankExplanation
from submissions.models import Build, Player, Submission
from submissions.selectors import newer_ready


@dataclass(frozen=True)
class Met:
    """An opponent that counts, the counts against it, and the share of images with a point, as the score counts it."""

    opponent: PlayerName
    attack: int
    defence: int
    counts: PairCounts
    share: float | None


@dataclass(frozen=True)
class OwnRun:
    """A run of the submission on a batch. `opponent` is the attack that a defence labels, None for an attack.

    `done` of the `whole` images were made or labelled.
    """

    run: AttackRun | DefenceRun
    batch: int
    epsilon: int
    opponent: PlayerName | None
    done: int | None
    whole: int | None


class EvaluationState(models.TextChoices):
    """Whether a submission counts or is evaluated, while it is ready."""

    PLAYING = "playing", "playing"
    SCORED = "scored", "scored"


@dataclass(frozen=True)
class TransferStatus:
    """Standing and runs of a submission. `row` is None unless it counts, `progress` unless it is being evaluated.

    `replaced_by` is the key of the submission of the same team that is to count in its place, and `newer` is its row if
    it counts already. `why` says why `row` has its rank.
    """

    row: TransferBoardRow | None = None
    why: RankExplanation | None = None
    replaced_by: int | None = None
    newer: TransferBoardRow | None = None
    progress: tuple[int, int] | None = None
    held_up: bool = False
    """Whether a run was given up that it needs."""
    met: Sequence[Met] = ()
    runs: Sequence[OwnRun] = ()
    image_notes: Sequence[tuple[str, int]] = ()
    row_notes: Sequence[tuple[str, int]] = ()

    @property
    def state(self) -> EvaluationState | None:
        """Whether it counts or is evaluated; None for neither."""
        if self.row is not None:
            return EvaluationState.SCORED
        return None if self.progress is None else EvaluationState.PLAYING

    @property
    def failed(self) -> Sequence[OwnRun]:
        """The runs that ended with an error or at a limit."""
        return [each for each in self.runs if each.run.state == Run.State.PLAYED and each.run.reason]


def submission_content(
    request: HttpRequest, shown: Submission, builds: Sequence[Build], *, inside: bool
) -> SubmissionContent:
    """Return the standing of a submission and its runs; only insiders see them while leaderboards are frozen.

    The rank, and what it says of others, is then for organisers alone.
    """
    competition, track = shown.repository.entry.competition, shown.repository.track
    live = sees_live(request.user, competition)
    since = None if inside or live else frozen_since(competition)
    status = transfer_status(shown, hidden=since is not None, ranked=live)
    scored = status.row is not None
    return SubmissionContent(
        template="formats/transfer/parts/submission_status.html",
        context={
            "defending": track.name == DEFENCE,
            "targeted": track.name == TARGETED_ATTACK,
            "hidden_since": since,
            "ranked": live,
            "status": status,
            "runs": Paginator(status.runs, RUNS_PER_PAGE).get_page(request.GET.get("page")),
        },
        state=status.state or Submission.State(shown.state),
        steps=steps_of(shown, builds, scored=scored, void=status.replaced_by is not None),
        final=scored or since is not None or status.replaced_by is not None,
        why=[status.why] if status.why else [],
    )


def transfer_status(submission: Submission, *, hidden: bool, ranked: bool) -> TransferStatus:
    """Return the standing of a submission and its runs, none of it if it is `hidden` or was not ready.

    Without its rank, and why it has that, unless it is `ranked`.
    """
    tournament = tournament_in_force(submission.repository.track.competition)
    if tournament is None or submission.player is None or hidden or submission.state != Submission.State.READY:
        return TransferStatus()
    inside = list(current_entrants(tournament))
    own = [each for each in inside if each.submission and each.submission.repository_id == submission.repository_id]
    repeats = repeat_counts(tournament, [submission.player.pk]).get(submission.player.pk)
    entrant = next((each for each in own if each.submission_id == submission.pk), None)
    row = row_of(entrant, repeats) if entrant else None
    replaced_by = None if row or submission.baseline_at else newer_ready(submission).order_by("pk").last()
    newer = next((row_of(each) for each in own if each.submission == replaced_by), None) if replaced_by else None
    attacks = submission.player.track_name in ATTACK_TRACKS
    opponents = in_order(each for each in inside if (each.track.name in ATTACK_TRACKS) != attacks)
    names = {each.player_id: name_of(row_of(each)) for each in opponents}
    progress = None if row or replaced_by else progress_of_submission(tournament, submission)
    runs = _attack_runs(tournament, submission.player) if attacks else _labels(tournament, submission.player, names)
    own_runs = [each.run for each in runs]
    return TransferStatus(
        row=row if row is None or ranked else row.without_rank,
        why=explanation_of(tournament, entrant, inside) if entrant and ranked else None,
        replaced_by=replaced_by.pk if replaced_by else None,
        newer=newer,
        progress=progress,
        held_up=progress is not None and is_held_up(submission),
        met=_met(tournament, submission.player, opponents, names),
        runs=runs,
        image_notes=notes_of([run for run in own_runs if isinstance(run, AttackRun)]),
        row_notes=row_notes_of([run for run in own_runs if isinstance(run, DefenceRun)]),
    )


def _attack_runs(tournament: Tournament, player: Player) -> list[OwnRun]:
    runs = tournament.attack_runs.filter(attack=player).order_by("batch")
    return [OwnRun(run, run.batch, run.epsilon, None, run.made, run.images) for run in runs]


def _labels(tournament: Tournament, player: Player, names: Mapping[int, PlayerName]) -> list[OwnRun]:
    """Return the runs of a defence on the attacks that count, in the order of these."""
    found: dict[int, list[OwnRun]] = defaultdict(list)
    runs = DefenceRun.objects.filter(attack_run__tournament=tournament, attack_run__attack__in=names, defence=player)
    for run in runs.select_related("attack_run").order_by("attack_run__batch"):
        of = run.attack_run
        found[of.attack_id].append(OwnRun(run, of.batch, of.epsilon, names[of.attack_id], run.labelled, of.made))
    return [run for key in names for run in found[key]]


def _met(
    tournament: Tournament, player: Player, opponents: Sequence[Entrant], names: Mapping[int, PlayerName]
) -> list[Met]:
    others = {each.player_id: each.player for each in opponents}
    attacks = player.track_name in ATTACK_TRACKS
    sides = ([player], others.values()) if attacks else (others.values(), [player])
    found = []
    for pair in pair_totals.pair_counts(tournament, *sides):
        attack, defence = int(pair.attack), int(pair.defence)
        share = share_of_points(pair, defending=not attacks)
        found.append(Met(names[defence if attacks else attack], attack, defence, pair, share))
    return sorted(found, key=lambda each: (each.share is None, each.share or 0.0))
