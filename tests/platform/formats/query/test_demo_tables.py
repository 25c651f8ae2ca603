"""The leaderboards that the demo prints."""

from __future__ import annotations

import io

from rich.console import Console

from accounts.models import Team
from competitions.models import Entry, Track
from formats.query.demo.printed_tables import print_boards
from formats.query.leaderboards.models import Evaluation, Standing
from submissions.models import Player

OPPONENT = "A residual network with a long title, trained adversarially"


def row(kind: str, **ranks: int | None) -> Standing:
    evaluation = Evaluation(
        value=9.86, low=6.72, high=12.51, samples=20, failures=6, met=2, worst_opponent=Player(title=OPPONENT)
    )
    return Standing(track=Track(name=kind), entry=Entry(team=Team(name="The Owls")), evaluation=evaluation, **ranks)


def printed(*rows: Standing, width: int = 100) -> str:
    out = io.StringIO()
    print_boards({"Board": rows}, Console(file=out, width=width))
    return " ".join(out.getvalue().split())


def test_a_rank_is_printed_with_its_interval_and_digits_follow_the_interval() -> None:
    text = printed(row("model", rank=2, rank_low=2, rank_high=8), row("model", rank=9, rank_low=3, rank_high=None))
    assert "2 (2 to 8)" in text
    assert "9 (from 3)" in text
    assert "9.9 │ 6.7 to 12.5" in text
    assert "6 of 40" in text
    assert "held" in text
    assert "found nothing" in printed(row("untargeted", rank=1))


def test_unranked_teams_are_printed_without_a_rank() -> None:
    assert "none yet" in printed(row("targeted", rank=None))


def test_in_a_narrow_terminal_only_the_title_of_the_opponent_is_broken() -> None:
    text = printed(row("untargeted", rank=2, rank_low=2, rank_high=8), width=80)
    assert "2 (2 to 8) │ The Owls │ 9.9 │ 6.7 to 12.5 │ 6 of 40" in text
