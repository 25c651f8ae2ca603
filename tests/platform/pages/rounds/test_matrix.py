"""The matrix of models and attacks, of a competition and of a round."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards
from evaluation.charts.heat_map_colours import STEPS
from formats.query.leaderboards.models import Evaluation, Pool, Snapshot
from formats.query.leaderboards.score_visibility import rows_now
from formats.query.matches.models import Match
from formats.query.pages.matrix_page_data import DistanceMap, MatrixCell
from formats.query.rounds.models import RoundMatch
from pages.matrix.heat_map import SMALL, HeatMapAxis
from pages.player_names import PlayerName
from rounds.models import Round
from submissions.models import Submission
from tests.platform.pages.rounds.conftest import Play

MATRIX = "/competitions/digits/matrix/untargeted"
ROUND = "/competitions/digits/rounds/1/matrix/untargeted"
CELL = re.compile(r'<td class="(h\w)"><a href="/matches/(\d+)">([\d.]+)</a></td>')


def rows_of(client: Client, address: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(f"{address}.csv").content.decode())))


def heat_map(models: int, attacks: int) -> DistanceMap:
    def sides(count: int) -> list[HeatMapAxis]:
        return [HeatMapAxis(number, PlayerName(f"<{number}>"), "1.000") for number in range(count)]

    cells = {(x, y): MatrixCell(x + y / 10, 0, 20, 7) for x in range(models) for y in range(attacks)}
    return DistanceMap("M", sides(models), sides(attacks), "", cells)


def test_a_competition_shows_the_pairs_behind_its_scores(
    client: Client, played_match: Match, shown: dict[str, Submission]
) -> None:
    page = client.get(MATRIX).content.decode()
    assert CELL.findall(page) == [("h8", str(played_match.pk), "1.25")]
    assert 'title="Owl 1 by The Owls"' in page
    assert "Boundary attack" in page
    assert rows_of(client, MATRIX) == [
        {
            "model": "Owl 1",
            "model team": "The Owls",
            "attack": "Boundary attack",
            "attack team": "",
            "median distance": "1.25",
            "held": "2",
            "samples": "6",
            "match": str(played_match.pk),
        }
    ]


@pytest.mark.parametrize(("hours", "public"), [(1, True), (-1, False)])
def test_frozen_leaderboards_hide_later_pairs(
    client: Client, played_match: Match, competition: Competition, olga: User, hours: int, public: bool
) -> None:
    finished = Evaluation.objects.get().finished_at
    assert finished is not None
    since = finished + timedelta(hours=hours)
    for track in competition.tracks.all():
        Snapshot.objects.create(track=track, made_at=since, reason="final", rows=rows_now(track))
    FrozenLeaderboards.objects.create(competition=Competition.objects.get(), since=since)
    assert len(rows_of(client, MATRIX)) == public
    client.force_login(olga)
    assert len(rows_of(client, MATRIX)) == 1


def test_a_pair_that_was_not_broken_has_no_colour(client: Client, played_match: Match) -> None:
    evaluation = Evaluation.objects.get()
    evaluation.per_opponent[0]["failures"] = 4
    evaluation.save()
    assert CELL.findall(client.get(MATRIX).content.decode())[0][0] == "hx"


def test_a_pair_comes_from_the_newest_pool(client: Client, played_match: Match, pool: Pool) -> None:
    newer = Evaluation.objects.get()
    row = newer.per_opponent[0]
    pool.places.all().delete()
    pool.pk, pool.number = None, 2
    pool.save()
    pool.places.create(place=1, player=played_match.attack)
    newer.pk, newer.pool, newer.per_opponent = None, pool, [row | {"median": 0.5}]
    newer.save()
    newer.matches.add(played_match)
    assert [value for _, _, value in CELL.findall(client.get(MATRIX).content.decode())] == ["0.50"]


def test_a_round_shows_the_pairs_that_its_outcome_uses(client: Client, play: Play) -> None:
    matches = meet(play(3))
    page = client.get(ROUND).content.decode()
    assert [(int(match), value) for _, match, value in CELL.findall(page)] == [
        (match.match_id, f"{match.median:.2f}") for match in matches
    ]
    assert [float(row["median distance"]) for row in rows_of(client, ROUND)] == [match.median for match in matches]


def test_a_round_hides_its_pairs_until_it_is_published_and_while_they_show_frozen_leaderboards(
    client: Client, play: Play, olga: User
) -> None:
    played = play(3)
    meet(played)
    FrozenLeaderboards.objects.create(competition=Competition.objects.get(), since=played.window.starts_at)
    assert client.get(ROUND).status_code == client.get(f"{ROUND}.csv").status_code == 404
    client.force_login(olga)
    assert client.get(ROUND).status_code == 200
    Round.objects.update(state=Round.State.SCORED)
    assert client.get(ROUND).status_code == 404


def test_a_hundred_of_each_take_as_many_queries(
    client: Client, play: Play, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    meet(play(100))
    with django_assert_max_num_queries(10):
        page = client.get(ROUND).content
    assert len(CELL.findall(page.decode())) == 10_000
    assert len(page) < 1_200_000


def meet(played: Round) -> list[RoundMatch]:
    """Let all models and untargeted attacks of a round meet; return the pairs in the order of the standings."""
    models, attacks = (
        [entry.player for entry in played.entries.filter(track__name=name).order_by("place")]
        for name in ("model", "untargeted")
    )
    matches = Match.objects.bulk_create(
        Match(
            rules=played.rules, sample_set=played.sample_set, model=model, attack=attack, seed=1, state="played",
            created_at=played.planned_at,
        )
        for model in models
        for attack in attacks
    )  # fmt: skip
    return RoundMatch.objects.bulk_create(
        RoundMatch(round=played, match=match, samples=200, median=1 + number / 1000, held=0)
        for number, match in enumerate(matches)
    )


def test_colours_are_ten_equal_steps_from_0() -> None:
    drawn = heat_map(4, 4)
    step = drawn.colours.end / STEPS
    colours = [CELL.findall(cells.replace("<td class", "<td class")) for _, cells in drawn.rows()]
    for row in colours:
        for colour, _, value in row:
            assert colour == f"h{int(float(value) / step + 1e-9)}"
    assert [float(start) for _, start in drawn.legend] == pytest.approx([step * number for number in range(STEPS)])


def test_a_large_one_has_a_picture_with_every_cell_in_its_colour() -> None:
    assert not heat_map(SMALL, SMALL).is_large
    drawn = heat_map(SMALL + 1, 2)
    assert drawn.is_large
    squares = {
        (int(x) + step, int(y)): colour
        for colour, path in drawn.areas()
        for x, y, width, back in re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path)
        for step in range(int(width))
        if width == back
    }
    assert len(squares) == 2 * (SMALL + 1)
    for y, (_, cells) in enumerate(drawn.rows()):
        for x, (colour, _, _) in enumerate(CELL.findall(cells)):
            assert squares[x, y] == colour
