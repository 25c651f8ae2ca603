"""The released table of all runs of attacks of a round of the transfer format."""

from __future__ import annotations

from functools import partial

from django.db.models import QuerySet

from competitions.pseudonyms import public_name
from competitions.sample_archive import table
from formats.transfer.tournaments.models import AttackRun, Run
from rounds.models import Round
from rounds.release.release_files import team_slugs


def attack_runs_of(round_: Round) -> QuerySet[AttackRun]:
    """Return the played runs of attacks of a round."""
    played = AttackRun.objects.filter(tournament__round=round_, state=Run.State.PLAYED)
    return played.select_related("attack").order_by("attack", "batch")


def attack_runs_table(round_: Round) -> bytes:
    """Return the table of all runs of attacks, with the names of the archives of their images."""
    teams = team_slugs(round_)
    name = partial(public_name, round_.competition)
    rows = [
        (
            run.pk,
            run.attack.track_name,
            name(run.attack.digest),
            teams.get(run.attack_id, ""),
            run.attack.baseline,
            run.batch,
            run.epsilon,
            run.made or 0,
        )
        for run in attack_runs_of(round_)
    ]
    rows.sort(key=lambda row: (row[1], row[2], row[5]))
    return table(("run", "track", "attack", "attack_teams", "baseline", "batch", "epsilon", "images"), rows)
