"""Making of the tournaments of leaderboards, and entries to them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction
from django.db.models import Q

from competitions.models import Competition, Track
from competitions.sample_set_selectors import sample_set_for
from competitions.selectors import rules_in_force
from core import clock, event_log, platform_error_report, submission_traces, worker_notifications
from formats.transfer import NAME
from formats.transfer.tournaments import round_tournaments, run_queue, step_notifications
from formats.transfer.tournaments.engine_runs import sizes_of, tournament_seed
from formats.transfer.tournaments.models import Entrant, Tournament
from formats.transfer.tournaments.player_builds import baseline_player
from formats.transfer.tournaments.ranking import fill_intervals, rank
from formats.transfer.tournaments.run_requests import cancel_runs, request_following, request_runs
from formats.transfer.tournaments.score_intervals import lacks_intervals
from formats.transfer.tournaments.selectors import (
    Participant,
    RunProgress,
    baseline_players,
    current_entrants,
    entered_players,
    entered_sides,
    lost_images,
    newcomers,
    participants,
    progress_of_players,
)
from submissions.models import Player, Submission
from submissions.player_builds import keep_image
from submissions.removed_images import image_is_gone

log = logging.getLogger(__name__)


def advance_all() -> None:
    """Advance the leaderboard of every competition of the format that is not archived; a failure affects its own."""
    for competition in Competition.objects.filter(format=NAME, archived_at=None).order_by("pk"):
        try:
            advance(make_tournament(competition))
        except Exception as error:
            platform_error_report.report(log, error, "the tournament of %s cannot be advanced", competition)


def make_tournament(competition: Competition) -> Tournament:
    """Return the tournament of the leaderboard under the rules and samples in force; make it if there is none.

    The leaderboard's earlier tournaments end with that: nothing more is played in them. One that comes into force again
    goes on where it ended.
    """
    superseded = Tournament.objects.filter(competition=competition, fixed=False, ended_at=None)
    current = list(superseded[:2])
    if len(current) == 1 and _is_in_force(current[0], competition):
        return current[0]
    with transaction.atomic():
        # without the lock, a process that has read earlier rules could undo what another one does
        locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        rules, sample_set = rules_in_force(locked), sample_set_for(locked, "validation")
        made, _ = Tournament.objects.get_or_create(
            rules=rules,
            sample_set=sample_set,
            defaults={"competition": locked, "seed": tournament_seed(rules, sample_set), "made_at": clock.now()},
        )
        ended = list(superseded.exclude(pk=made.pk).order_by("pk").select_for_update(no_key=True))
        for each in ended:
            Tournament.objects.filter(pk=each.pk).update(ended_at=clock.database_now())
            event_log.record("end", each, followed_by=made.pk)
        run_queue.take_back(ended)
        if made.ended_at is not None and not made.fixed:
            Tournament.objects.filter(pk=made.pk).update(ended_at=None)
            made.ended_at = None
            event_log.record("reopen", made)
        return made


def _is_in_force(tournament: Tournament, competition: Competition) -> bool:
    in_force = rules_in_force(competition).pk, sample_set_for(competition, "validation").pk
    return (tournament.rules_id, tournament.sample_set_id) == in_force


def missing_baselines() -> list[tuple[Track, str]]:
    """Return the baselines that are to be built, of competitions that are public or have started, and not archived.

    One whose image is gone is built again, as another player if not its recipe alone decides its content.
    """
    started = Q(public=True) | Q(starts_at__lte=clock.now())
    missing = []
    for competition in Competition.objects.filter(started, format=NAME, archived_at=None).order_by("pk"):
        players = baseline_players(competition)
        lost = lost_images(player for _, player in players)
        built = {(track.name, player.baseline) for track, player in players if player.pk not in lost}
        missing += [
            (track, name)
            for track in competition.tracks.all()
            for name in track.baselines
            if (track.name, name) not in built
        ]
    return missing


def make_baselines() -> int:
    """Build the missing baselines; return how many were built.

    A failed build affects only its own baseline, and the next sweep has it tried again.
    """
    made = 0
    for track, name in missing_baselines():
        try:
            built = baseline_player(track, name, log.info)
            keep_image(built)
            _let_replace(built)
            run_queue.requeue_failed_of(built)
            made += 1
        except Exception as error:
            platform_error_report.report(log, error, "%s of %s cannot be built", name, track)
    return made


def _let_replace(built: Player) -> None:
    """Let a baseline play in place of earlier builds of the same files whose image is gone."""
    same = Player.objects.filter(
        competition=built.competition_id,
        track_name=built.track_name,
        baseline=built.baseline,
        tree_digest=built.tree_digest,
    )
    earlier = same.filter(replaced_at=None).exclude(Q(pk=built.pk) | Q(image=""))
    gone = [each.pk for each in earlier if image_is_gone(each)]
    with transaction.atomic():
        Player.objects.filter(pk__in=gone).update(replaced_at=clock.database_now())
        Player.objects.filter(pk=built.pk, replaced_at__isnull=False).update(replaced_at=None)


def advance(tournament: Tournament) -> None:
    """Take the next step of a leaderboard's tournament: request runs, let players enter and leave, rank them.

    Safe to repeat and concurrently. A submission enters when it has met every entrant on every batch; it replaces the
    earlier one of its team. So scores on one leaderboard are always over the same opponents. If the field is fixed,
    runs are only requested (see `formats.transfer.tournaments.round_tournaments`). Nothing happens in one that has
    ended.

    It looks at all runs: after a commit, `follow_up` takes the step that may follow from it.
    """
    if tournament.fixed:
        round_tournaments.advance(tournament)
        return
    step_notifications.begin(tournament)
    sizes = sizes_of(tournament)
    with transaction.atomic():
        current = _locked(tournament)
        if current.ended_at is not None:
            return
        changed = _let_leave(current)
        outside = newcomers(current)
        taking_part = participants(current, outside)
        waited = run_queue.anything_waits()
        cancel_runs(current, taking_part)
        requested = request_runs(current, taking_part, sizes)
        entered = _let_enter(current, len(sizes), outside)
        ranked = changed or entered.anybody or lacks_intervals(current)
        if ranked:
            rank(current)
        if requested and not waited:  # else workers pass a notification on already
            worker_notifications.notify("workers.play")
    if entered.replaced:
        _cancel_needless_runs(current)
    if ranked:
        fill_intervals(current)


def follow_up(tournament: Tournament) -> None:
    """Take the step that follows from commits: request runs on new images, and let those enter that have met everybody.

    It reads the totals and what is new, never all runs. `advance` finds what it does not look at.
    """
    step_notifications.begin(tournament)
    if tournament.fixed:
        round_tournaments.follow_up(tournament)
        return
    with transaction.atomic():
        current = _locked(tournament)
        if current.ended_at is not None:
            return
        outside = newcomers(current)
        request_following(current, lambda: entered_sides(current) + [each.side for each in outside])
        entered = _let_enter(current, len(sizes_of(current)), outside)
        if entered.anybody:
            rank(current)
    if entered.replaced:
        _cancel_needless_runs(current)
    if entered.anybody:
        fill_intervals(current)


def _cancel_needless_runs(tournament: Tournament) -> None:
    """Cancel the runs of submissions that others have replaced. A transaction of its own locks runs before entrants."""
    with transaction.atomic():
        current = _locked(tournament)
        cancel_runs(current, participants(current))


def _locked(tournament: Tournament) -> Tournament:
    current = Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
    current.rules, current.sample_set, current.competition = (
        tournament.rules,
        tournament.sample_set,
        tournament.competition,
    )
    return current


def _let_leave(tournament: Tournament) -> bool:
    """Remove withdrawn and disqualified entrants, and baselines that the competition or this version no longer has.

    Of a team that has several since one is no longer a baseline, the older ones leave.
    """
    gone = []
    baselines = {player.pk for _, player in baseline_players(tournament.competition)}
    inside = list(current_entrants(tournament))
    newest: dict[int, int] = {}
    for each in (entrant.submission for entrant in inside):
        if each is not None and each.baseline_at is None:
            newest[each.repository_id] = max(each.pk, newest.get(each.repository_id, 0))
    for entrant in inside:
        submission = entrant.submission
        if submission is None:
            stays = entrant.player_id in baselines
        else:
            stays = submission.state == Submission.State.READY and submission.disqualified_at is None
            replaced = submission.baseline_at is None and submission.pk < newest[submission.repository_id]
            stays = stays and not replaced
        if not stays:
            gone.append(entrant.pk)
            event_log.record("leave", entrant, tournament=tournament.pk, player=entrant.player_id)
    return bool(Entrant.objects.filter(pk__in=gone).update(left_at=clock.database_now()) if gone else 0)


class _Entered(NamedTuple):
    """Whether anybody entered a leaderboard, and whether an earlier submission left for it."""

    anybody: bool = False
    replaced: bool = False


def _let_enter(tournament: Tournament, batches: int, outside: Sequence[Participant]) -> _Entered:
    """Let newcomers (`outside`) enter that have met every entrant, one after the other."""
    if not outside:
        return _Entered()
    progress = progress_of_players(
        tournament,
        batches,
        attacks={each.player.pk for each in outside if each.attacks},
        defences={each.player.pk for each in outside if not each.attacks},
    )
    possible = [each for each in outside if not each.attacks or progress.attack_is_played(each.player.pk)]
    entered = replaced = False
    # an entrant that is replaced does not come back
    while possible and (entering := _next_to_enter(tournament, possible, progress)) is not None:
        replaced = _enter(tournament, entering) or replaced
        possible.remove(entering)
        entered = True
    return _Entered(entered, replaced)


def _next_to_enter(
    tournament: Tournament, possible: Sequence[Participant], progress: RunProgress
) -> Participant | None:
    """Return the first of the participants that has met every entrant; its attacks were run on every batch."""
    attacks, defences = entered_players(tournament)
    for each in possible:
        if each.attacks:
            met = all(progress.pair_is_played(each.player.pk, defence) for defence in defences)
        else:
            met = all(progress.pair_is_played(attack, each.player.pk) for attack in attacks)
        if met:
            return each
    return None


def _enter(tournament: Tournament, each: Participant) -> bool:
    """Let a participant enter; return whether an earlier submission of its team left for it."""
    now = clock.database_now()
    replaced = 0
    if each.submission is not None and each.submission.baseline_at is None:
        earlier = tournament.entrants.filter(
            left_at=None, submission__repository=each.submission.repository_id, submission__baseline_at=None
        )
        replaced = earlier.update(left_at=now)
    entrant, _ = Entrant.objects.update_or_create(
        tournament=tournament,
        submission=each.submission,
        player=each.player,
        defaults={"left_at": None},
        create_defaults={"track": each.track, "entered_at": now},
    )
    event_log.record("enter", entrant, tournament=tournament.pk, player=each.player.pk)
    if each.submission is not None:
        event_log.record("score", each.submission, tournament=tournament.pk)
        submission_traces.span_of_commit("score", each.submission.pk, tournament=tournament.pk)
    return bool(replaced)
