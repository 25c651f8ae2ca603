"""What a new version of the rules makes again: the whole tournament of the leaderboard."""

from __future__ import annotations

from django.db.models import Avg

from competitions.formats import RepeatedWork
from competitions.models import Competition
from formats.transfer.tournaments.boards import tournament_in_force
from formats.transfer.tournaments.engine_adapter import sizes_of
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Run
from formats.transfer.tournaments.selectors import current_entrants, entered_players


def repeated_tournament(competition: Competition) -> RepeatedWork:
    """Return what the leaderboard plays again under a new version: every attack against every defence."""
    tournament = tournament_in_force(competition)
    if tournament is None:
        return RepeatedWork(0, None)
    entrants = current_entrants(tournament)
    teams = entrants.exclude(submission=None).count()
    attacks, defences = entered_players(tournament)
    batches = len(sizes_of(tournament))
    attacked, labelled = len(attacks) * batches, len(attacks) * len(defences) * batches
    runs = AttackRun.objects.filter(tournament__competition=competition, state=Run.State.PLAYED)
    labellings = DefenceRun.objects.filter(attack_run__tournament__competition=competition, state=Run.State.PLAYED)
    attack, defence = (rows.aggregate(mean=Avg("seconds"))["mean"] for rows in (runs, labellings))
    known = (attack is not None or not attacked) and (defence is not None or not labelled)
    return RepeatedWork(
        teams,
        attacked * (attack or 0.0) + labelled * (defence or 0.0) if known else None,
        "The baselines are played again, too." if entrants.filter(submission=None).exists() else "",
    )
