"""The demo of the transfer format."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from competitions.models import Competition
from demo.formats import SeasonFormat
from demo.submission_result import DemoResult
from demo.virtual_teams import VirtualTeam
from evaluation.formats.transfer.rules import TransferRules
from formats.transfer.demo.printed_tables import print_boards
from formats.transfer.demo.teams import READER, TEAMS
from formats.transfer.tournaments.boards import board_of, tournament_in_force
from formats.transfer.tournaments.selectors import baseline_players, current_entrants, participants
from submissions.models import Submission


class TransferDemo:
    """Teams of the NIPS 2017 competition."""

    teams: Sequence[VirtualTeam] = TEAMS
    reader: VirtualTeam = READER
    season: SeasonFormat | None = None

    def rules_for(self, rules: Mapping[str, Any], samples: int) -> Mapping[str, Any]:
        """Return the rules with batches that are small enough for every epsilon to have one."""
        epsilons = rules.get("epsilons", TransferRules.epsilons)
        return {**rules, "batch_images": min(_batch_images(rules), math.ceil(samples / len(epsilons)))}

    def settings(self, rules: Mapping[str, Any], samples: int) -> str:
        batch = min(_batch_images(rules), samples)
        return (
            f"The demo plays {samples} validation images in batches of {batch}; in 2017 it was 5,000 in batches of 100."
        )

    def under_way(self, competition: Competition) -> int:
        submitted = Submission.objects.filter(repository__track__competition=competition)
        baselines = sum(len(track.baselines) for track in competition.tracks.all())
        tournament = tournament_in_force(competition)
        if tournament is None:
            return submitted.count() + baselines
        inside = {(each.player_id, each.submission_id) for each in current_entrants(tournament)}
        outside = sum(each.key not in inside for each in participants(tournament))
        not_built = baselines - len(baseline_players(competition))
        return submitted.filter(state__in=Submission.UNDER_WAY).count() + outside + not_built

    def results(self, competition: Competition) -> Iterator[DemoResult]:
        tournament = tournament_in_force(competition)
        if tournament is None:
            return
        for entrant in current_entrants(tournament).order_by("entered_at", "pk"):
            if entrant.submission is not None and entrant.score is not None:
                score = f"{entrant.score:.1%} (opponents so far: {entrant.opponents})"
                yield DemoResult(str(entrant.pk), entrant.submission, score, rank=entrant.rank)

    def played(self, competition: Competition) -> Mapping[int, tuple[int, int]]:
        return {}  # scores come with the first opponents, and change with each further one

    def print_boards(self, competition: Competition, console: Console) -> None:
        print_boards(((track.title, board_of(track)) for track in competition.tracks.all()), console)


def _batch_images(rules: Mapping[str, Any]) -> int:
    """Return the number of images in a batch by the rules of a competition's file."""
    return int(rules.get("batch_images", TransferRules.batch_images))
