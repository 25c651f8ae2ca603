"""Data of the public page of a round of the transfer format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest

from competitions.models import Track
from evaluation.charts.interval_bar_axis import axis_of_shares
from formats.transfer.pages.paper_figures import figures_of, table_name
from formats.transfer.rounds.attack_run_table import attack_runs_of
from formats.transfer.rounds.round_advancement import tournament_of
from formats.transfer.rounds.standings import BaselinePlace, TransferPlace, baselines, standings
from formats.transfer.tournaments.round_tournaments import run_counts
from formats.transfer.tracks import TARGETED_ATTACK
from pages.formats import Content, RoundContent, RoundProgress
from pages.player_names import PlayerName
from pages.round.figure_files import figure_address
from rounds.models import Release, Round
from rounds.publishing.pair_visibility import images_seen


@dataclass(frozen=True)
class ReleasedRun:
    """A run of an attack whose images are released as the `part` of the round."""

    part: str
    attack: PlayerName
    batch: int
    epsilon: int
    images: int


@dataclass(frozen=True)
class TrackStandings:
    """The standings of a track and its baselines, best first, and the address of both as CSV."""

    track: Track
    rows: Sequence[TransferPlace]
    baselines: Sequence[BaselinePlace]
    csv: str

    @property
    def has_intervals(self) -> bool:
        """Whether any row has an interval: a column without one is not shown."""
        return any(row.of.low is not None for row in self.rows)

    @property
    def baseline(self) -> BaselinePlace | None:
        """The best baseline."""
        return self.baselines[0] if self.baselines else None

    @property
    def best_worst(self) -> float | None:
        """The best worst score of a team, None for targeted attacks, of which it says little (Kurakin et al. 2018)."""
        if self.track.name == TARGETED_ATTACK:
            return None
        return max((row.worst for row in self.rows if row.worst is not None), default=None)


def round_content(
    request: HttpRequest, shown: Round, tracks: Sequence[Track], public: Mapping[str, Release]
) -> RoundContent:
    """Return the standings of a published round."""
    found = standings(shown)
    own = baselines(shown, found)
    runs = released_runs(shown) if Release.Part.PERTURBED in public else ()
    return RoundContent(
        template="formats/transfer/parts/round.html",
        context={
            "axis": axis_of_shares(),
            "standings": [
                TrackStandings(track, found[track.name], own[track.name], figure_address(shown, table_name(track)))
                for track in tracks
            ],
            "images": images_seen(shown, request.user, public),
        },
        perturbed=Content(template="formats/transfer/parts/round_runs.html", context={"runs": runs}) if runs else None,
        figures=figures_of(shown, tracks, found, own),
    )


def progress_of(played: Round) -> RoundProgress:
    """Return the progress of a round in runs, without names."""
    tournament = tournament_of(played)
    done, needed = run_counts(tournament) if tournament else (0, 0)
    return RoundProgress(
        stage="Every attack against every defence",
        words=f"{intcomma(done)} of {intcomma(needed)} runs played",
        note="A run is one attack on one batch of images, or one defence on what an attack made of it.",
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
