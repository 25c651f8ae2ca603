"""The gallery of a round: what its cells show, and that nobody sees it before the release."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from formats.query.matches.models import Match
from formats.query.rounds.models import RoundMatch
from formats.query.tracks import UNTARGETED
from repositories.models import Repository
from rounds.models import Release, Round, RoundEntry
from submissions.models import Player, Submission
from tests.platform.pages.conftest import OUTCOMES, play_piece, submitted

ADDRESS = "/competitions/digits/rounds/1/gallery/untargeted"
OTHERS = (
    ("adversarial", 0.25, 40, ""),
    ("failed", 30.0, 50, "no_adversarial"),
    ("adversarial", 0.75, 40, ""),
    ("adversarial", 3.0, 40, ""),
)
"""The first samples against the other attack."""

IMAGE = re.compile(r"/matches/(\d+)/samples/(\d+)/([\w-]+)\.png")


@pytest.fixture
def released(
    played_match: Match,
    planned: Round,
    shown: dict[str, Submission],
    repositories: dict[str, Repository],
    bob: User,
    olga: User,
) -> Round:
    """A published and released round: the model of `played_match` against its attack, and against a second one."""
    Round.objects.filter(pk=planned.pk).update(state=Round.State.PUBLISHED, sample_set=played_match.sample_set)
    planned.refresh_from_db()
    second = Player.objects.create(
        competition=planned.competition, track_name=UNTARGETED, digest="sha256:" + "c" * 64,
        title="Second attack", command=["run"], baseline="second", created_at=planned.planned_at,
    )  # fmt: skip
    other = Match.objects.get(pk=played_match.pk)
    other.pk, other.attack = None, second
    other.save()
    for first in (0, 2):
        play_piece(other, first, OTHERS[first : first + 2])
    sent = [shown["scored"]] + [
        submitted(repositories["untargeted"], bob, number, Submission.State.READY, title=f"Sent {number}")
        for number in (21, 22)
    ]
    for place, (submission, player) in enumerate(
        zip(sent, (played_match.model, played_match.attack, second), strict=True), start=1
    ):
        RoundEntry.objects.create(
            round=planned, track=submission.repository.track, submission=submission, player=player, order=place,
            prior=place, place=max(1, place - 1),
        )  # fmt: skip
    RoundMatch.objects.create(round=planned, match=played_match, samples=6)
    RoundMatch.objects.create(round=planned, match=other, samples=3)  # the outcome does not use the fourth
    release(planned, olga, *ALL)
    return planned


ALL = (Release.Part.BUNDLE, Release.Part.IMAGES, Release.Part.PERTURBED)


def release(round_: Round, by: User, *parts: str) -> None:
    for part in parts:
        Release.objects.create(round=round_, part=part, released_at=round_.planned_at, released_by=by)


def page_of(client: Client, query: str = "") -> str:
    answer = client.get(f"{ADDRESS}{query}")
    assert answer.status_code == 200
    return answer.content.decode().split('id="gallery"')[1]


def cells_of(page: str) -> list[list[str]]:
    """The text of every cell, sample by sample, without its last line."""
    rows = re.findall(r"<tr>\s*<th scope=\"row\">.*?</tr>", page, re.DOTALL)
    return [[_text(cell) for cell in re.findall(r"<td>(.*?)(?:<br>.*?)?</td>", row, re.DOTALL)] for row in rows]


def _text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split()).replace(" ,", ",")


def test_each_model_has_its_smallest_perturbation_of_each_sample(
    client: Client, released: Round, played_match: Match
) -> None:
    """Each model has the smallest perturbation of all attacks, of the samples that the outcome uses."""
    page = page_of(client)
    found = [cell for (cell,) in cells_of(page)]
    # the first sample is wrong on the clean image in one match and so counts as 0; the fourth is not of the outcome
    expected = ["wrong on the clean image", "1.000", "0.750", "2.500", "held", "held"]
    assert [cell.split(", ")[-1] for cell in found] == expected
    assert "Sent 22, 40 queries" in _text(page)
    other = RoundMatch.objects.get(samples=3).match_id
    assert (str(other), "2", "perturbed") in IMAGE.findall(page)
    assert (str(other), "3", "perturbed") not in IMAGE.findall(page)
    assert len(OUTCOMES) == len(found)


@pytest.mark.parametrize(
    ("query", "heads", "second"),
    [
        ("?view=attacks", ["Sent 21", "Sent 22"], ["1.000", "held"]),
        ("?view=models", ["Owl 1"], ["1.000"]),
        ("?view=nonsense", ["Owl 1"], ["1.000"]),
    ],
)
def test_columns_are_attacks_or_models(
    client: Client, released: Round, query: str, heads: Sequence[str], second: Sequence[str]
) -> None:
    page = page_of(client, query)
    assert re.findall(r'<th scope="col"><a href="[^"]+">([^<]+)</a>', page) == heads
    assert [cell.split(", ")[-1] for cell in cells_of(page)[1]] == second


def test_the_opponent_and_the_amplification_are_chosen_in_the_address(client: Client, released: Round) -> None:
    second = Player.objects.get(title="Second attack").pk
    page = page_of(client, f"?view=models&with={second}&amplify=25")
    assert [cell.split(", ")[-1] for (cell,) in cells_of(page)] == ["0.250", "held", "0.750"]
    assert {name for _, _, name in IMAGE.findall(page)} == {"clean", "perturbed", "difference-25"}
    assert f'<option value="{second}" selected>' in page
    assert cells_of(page_of(client, "?view=models&with=x&page=99")) == cells_of(page_of(client, "?view=models"))
    assert {name for _, _, name in IMAGE.findall(page_of(client, "?amplify=7"))} >= {"difference-10"}


def test_every_picture_of_the_page_is_one_that_the_reader_may_see(client: Client, released: Round) -> None:
    for match, sample, name in IMAGE.findall(page_of(client)):
        answer = client.get(f"/matches/{match}/samples/{sample}/{name}.png")
        assert answer.status_code == 200, (match, sample, name)


@pytest.mark.parametrize("missing", ALL)
def test_nobody_but_organisers_sees_it_before_everything_is_released(
    client: Client, released: Round, bob: User, olga: User, missing: str
) -> None:
    Release.objects.filter(part=missing).update(withdrawn_at=released.planned_at)
    for user, status in ((None, 404), (bob, 404), (olga, 200)):
        if user:
            client.force_login(user)
        assert client.get(ADDRESS).status_code == status
        linked = f'href="{ADDRESS}"' in client.get("/competitions/digits/rounds/1").content.decode()
        assert linked == (status == 200)


@pytest.mark.parametrize("state", [state for state in Round.State if state != Round.State.PUBLISHED])
def test_a_round_that_is_not_published_has_none(client: Client, released: Round, olga: User, state: str) -> None:
    Round.objects.filter(pk=released.pk).update(state=state)
    client.force_login(olga)
    assert client.get(ADDRESS).status_code == 404


def test_a_track_without_matches_says_so(client: Client, released: Round) -> None:
    assert "No pair of this track" in client.get(ADDRESS.replace("untargeted", "targeted")).content.decode()
    for name in ("model", "nonsense"):
        assert client.get(ADDRESS.replace("untargeted", name)).status_code == 404


def test_queries_do_not_depend_on_the_view(client: Client, released: Round) -> None:
    page_of(client)  # fills the caches
    counts = set()
    for query in ("", "?view=models", "?view=attacks"):
        with CaptureQueriesContext(connection) as seen:
            page_of(client, query)
        counts.add(len(seen))
    assert len(counts) == 1
    assert counts.pop() < 15
