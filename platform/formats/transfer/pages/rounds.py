"""Data of the public page of a round of the transfer format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest
from django.utils.translation import gettext

from competitions.models import Track
from evaluation.charts.interval_bar_axis import axis_to
from formats.transfer.rounds.downloads import attack_runs_of
from formats.transfer.rounds.round_advancement import tournament_of
from formats.transfer.rounds.standings import standings
from formats.transfer.tournaments.round_tournaments import run_counts
from pages.formats import Content, RoundContent, RoundProgress
from pages.player_names import PlayerName
from rounds.models import Release, Round
from rounds.publishing.visibility import images_seen


@dataclass(frozen=True)
class ReleasedRun:
    """A run of an attack whose images are released as the `part` of the round."""

    part: str
    attack: PlayerName
    batch: int
    epsilon: int
    images: int


def round_content(
    request: HttpRequest, shown: Round, tracks: Sequence[Track], public: Mapping[str, Release]
) -> RoundContent:
    """Return the standings of a published round."""
    found = standings(shown)
    runs = released_runs(shown) if Release.Part.PERTURBED in public else ()
    return RoundContent(
        template="formats/transfer/parts/round.html",
        context={
            "axis": axis_to(1.0),
            "standings": [(track, found[track.name]) for track in tracks],
            "images": images_seen(shown, request.user, public),
        },
        perturbed=Content(template="formats/transfer/parts/round_runs.html", context={"runs": runs}) if runs else None,
    )


def progress_of(played: Round) -> RoundProgress:
    """Return the progress of a round in runs, without names."""
    tournament = tournament_of(played)
    done, needed = run_counts(tournament) if tournament else (0, 0)
    return RoundProgress(
        stage=gettext("Every attack against every defence"),
        words=gettext("%(played)s of %(total)s runs played") % {"played": intcomma(done), "total": intcomma(needed)},
        note=gettext("A run is one attack on one batch of images, or one defence on what an attack made of it."),
        played=done,
        total=needed,
    )


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
