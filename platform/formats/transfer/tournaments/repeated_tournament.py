"""What a new version of the rules makes again: the whole tournament of the leaderboard."""

from __future__ import annotations

from competitions.formats import RepeatedWork
from competitions.models import Competition
from formats.transfer.tournaments.boards import tournament_in_force
from formats.transfer.tournaments.measured_time_and_disk import measured_runs
from formats.transfer.tournaments.models import AttackRun, DefenceRun
from formats.transfer.tournaments.selectors import current_entrants, entered_players


def repeated_tournament(competition: Competition) -> RepeatedWork:
    """Return what the leaderboard plays again under a new version: every attack against every defence."""
    tournament = tournament_in_force(competition)
    if tournament is None:
        return RepeatedWork(0, None)
    entrants = current_entrants(tournament)
    teams = entrants.exclude(submission=None).count()
    attacks, defences = entered_players(tournament)
    images = tournament.sample_set.count
    attacked, labelled = len(attacks) * images, len(attacks) * len(defences) * images
    attack = measured_runs(AttackRun.objects.filter(tournament__competition=competition), "images")
    of_attacks = DefenceRun.objects.filter(attack_run__tournament__competition=competition)
    defence = measured_runs(of_attacks, "attack_run__images")
    seconds: float | None = 0.0
    for number, measured in ((attacked, attack), (labelled, defence)):
        if number and (measured is None or seconds is None):
            seconds = None
        elif measured is not None and seconds is not None:
            seconds += number * measured.seconds_per_image
    return RepeatedWork(
        teams,
        seconds,
        "The baselines are played again, too." if entrants.filter(submission=None).exists() else "",
    )
