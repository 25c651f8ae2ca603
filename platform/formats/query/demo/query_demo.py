"""The demo of the query format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q
from rich.console import Console

from competitions.models import Competition, Track
from competitions.selectors import rules_in_force
from demo.formats import SeasonFormat
from demo.submission_result import DemoResult
from demo.virtual_teams import VirtualTeam
from evaluation.formats.query.rules import QueryRules
from formats.query.demo.printed_tables import print_boards
from formats.query.demo.season import QuerySeason
from formats.query.demo.teams import READER, TEAMS
from formats.query.leaderboards.evaluation_basis import COUNTED, basis_in_force
from formats.query.leaderboards.models import Evaluation, Standing
from formats.query.leaderboards.pool_of_first_submissions import first_players
from formats.query.leaderboards.scoring import difference_of
from formats.query.matches.models import Match
from submissions.models import Submission


class QueryDemo:
    """Teams of the Adversarial Vision Challenge of 2018."""

    teams: Sequence[VirtualTeam] = TEAMS
    reader: VirtualTeam = READER
    season: SeasonFormat | None = QuerySeason()

    def rules_for(self, rules: Mapping[str, Any], samples: int) -> Mapping[str, Any]:
        return rules

    def settings(self, rules: Mapping[str, Any], samples: int) -> str:
        return (
            f"The demo plays {samples} validation samples and {rules['query_budget']:,} queries a sample; "
            "in 2018 it was 200 and 1,000."
        )

    def under_way(self, competition: Competition) -> int:
        return sum(map(_under_way, competition.tracks.select_related("competition")))

    def results(self, competition: Competition) -> Iterator[DemoResult]:
        ended = Evaluation.objects.filter(submission__repository__track__competition=competition)
        place = ("submission__repository__entry__team", "submission__repository__track")
        ended = ended.exclude(state=Evaluation.State.PLAYING).order_by("finished_at")
        for row in ended.select_related(*place).prefetch_related("standings"):
            standing = row.standings.first()
            scored = row.value is not None
            yield DemoResult(
                key=str(row),
                submission=row.submission,
                score=f"{row.value:.2f}" if scored else f"void: {row.problem}",
                scored=scored,
                rank=standing.rank if standing else None,
            )

    def played(self, competition: Competition) -> Mapping[int, tuple[int, int]]:
        playing = Evaluation.objects.filter(
            state=Evaluation.State.PLAYING, submission__repository__track__competition=competition
        )
        played = Count("matches", filter=Q(matches__state=Match.State.PLAYED))
        rows = playing.values_list("submission").annotate(played=played, total=Count("matches"))
        return {submission: (done, total) for submission, done, total in rows}

    def print_boards(self, competition: Competition, console: Console) -> None:
        print_boards(boards(competition), console)


def boards(competition: Competition) -> dict[str, list[Standing]]:
    """Return the rows of each leaderboard, by the title of its track."""
    return {
        track.title: list(
            track.standings.select_related("track", "entry__team", "evaluation__worst_opponent").order_by(
                "place", "entry"
            )
        )
        for track in competition.tracks.all()
    }


def _under_way(track: Track) -> int:
    """Return what the track's board still waits for: a scored model may join the pool, and all is measured again."""
    basis = basis_in_force(track)
    ended = Evaluation.objects.filter(COUNTED, submission=OuterRef("pk"), **(basis._asdict() if basis else {}))
    waiting = Q(state__in=Submission.UNDER_WAY) | (
        Q(state=Submission.State.READY, disqualified_at=None) & ~Exists(ended.exclude(state=Evaluation.State.PLAYING))
    )
    left = Submission.objects.filter(waiting, repository__track=track).count()
    if not left and first_players(track, rules_in_force(track.competition).rules_as(QueryRules).opponents) is not None:
        left = 1  # the pool, which the next sweep changes
    changed, gone = difference_of(track)
    return left or len(changed) + len(gone)
