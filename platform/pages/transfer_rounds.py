"""Data of the public page of a round of the transfer format."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from formats.transfer.rounds.downloads import attack_runs_of
from pages.players import PlayerName
from pages.rounds import Progress
from rounds.models import Round
from tournaments.fixed_fields import run_counts


@dataclass(frozen=True)
class ReleasedRun:
    """A run of an attack whose images are released as the `part` of the round."""

    part: str
    attack: PlayerName
    batch: int
    epsilon: int
    images: int


def progress_of(played: Round) -> Progress:
    """Return the progress of a round in runs, without names."""
    done, needed = run_counts(played.tournament) if played.tournament else (0, 0)
    return Progress(gettext("Every attack against every defence"), done, needed)


def released_runs(shown: Round) -> list[ReleasedRun]:
    """Return the runs of attacks of a round that made images, by attack and batch."""
    teams: dict[int, list[str]] = {}
    for player, team in shown.entries.order_by("order").values_list(
        "player", "submission__repository__entry__team__name"
    ):
        teams.setdefault(player, []).append(team)
    runs = [
        ReleasedRun(
            part=f"perturbed-{run.pk}",
            attack=PlayerName(run.attack.title, ", ".join(teams.get(run.attack_id, ()))),
            batch=run.batch + 1,
            epsilon=run.epsilon,
            images=run.made or 0,
        )
        for run in attack_runs_of(shown)
        if run.made
    ]
    return sorted(runs, key=lambda run: (str(run.attack), run.batch))
