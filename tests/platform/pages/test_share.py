"""Pictures to share: size, address, and nothing that is not public."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.test import Client
from PIL import Image, ImageDraw

from accounts.models import Team, User
from competitions.models import Competition, FrozenLeaderboards, Track
from pages.share.picture import SharedRow, of_board, of_competition, of_round
from rounds.models import Round
from submissions.models import Submission

BOARD = "/competitions/digits/leaderboards/model"


@pytest.mark.parametrize("page", ["/competitions/digits", BOARD, "/competitions/digits/rounds/1"])
def test_a_page_names_its_picture(client: Client, shown: dict[str, Submission], planned: Round, page: str) -> None:
    address = f"http://testserver{page}/share.png"
    text = client.get(page).content.decode()
    assert f'<meta property="og:image" content="{address}">' in text
    assert '<meta property="og:title" content="' in text
    answer = client.get(address)
    assert answer["Content-Type"] == "image/png"
    picture = Image.open(io.BytesIO(answer.content))
    assert picture.size == (1200, 630)
    assert len(answer.content) < 100_000


def test_it_shows_the_rows_of_the_leaderboard(shown: dict[str, Submission]) -> None:
    track = Track.objects.get(name="model")
    row = SharedRow("1", "The Owls", "1.25")
    assert of_board(track).columns[0].rows == [row]
    assert [column.rows for column in of_competition(track.competition).columns] == [[row], [], []]


def test_a_text_of_several_lines_is_drawn_in_one(client: Client, shown: dict[str, Submission]) -> None:
    Competition.objects.update(summary="The summary of a file\nmay have two lines.")
    assert client.get("/competitions/digits/share.png").status_code == 200


def test_it_shows_nothing_that_a_freeze_hides_even_to_organisers(
    client: Client, shown: dict[str, Submission], olga: User
) -> None:
    before = client.get(f"{BOARD}/share.png").content
    competition = Competition.objects.get()
    FrozenLeaderboards.objects.create(competition=competition, since=competition.created_at - timedelta(days=1))
    competition = Competition.objects.get()
    assert of_board(competition.tracks.get(name="model")).columns[0].rows == []
    assert of_competition(competition).columns[0].rows == []
    client.force_login(olga)
    assert client.get(f"{BOARD}/share.png").content != before


def test_a_round_that_is_not_published_names_nobody(planned: Round) -> None:
    assert of_round(planned).columns == []


def test_a_picture_is_drawn_once_for_what_it_says(
    client: Client, shown: dict[str, Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    draw = ImageDraw.Draw

    def count(image: Image.Image) -> object:
        drawn.append(image)
        return draw(image)

    monkeypatch.setattr(ImageDraw, "Draw", count)
    first = client.get(f"{BOARD}/share.png").content
    assert client.get(f"{BOARD}/share.png").content == first
    assert len(drawn) == 1
    Team.objects.update(name="The Eagles")
    assert client.get(f"{BOARD}/share.png").content != first
    assert len(drawn) == 2
