"""Matches in the API."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from competitions.models import Competition, SampleSet
from core import object_store
from formats.query.matches.models import Match
from formats.query.rounds.models import RoundMatch
from rounds.models import Release, Round
from submissions.models import Submission


def test_the_matches_of_a_submission_are_listed_and_each_is_shown_by_its_key(
    program: Any, match: Match, scored: Submission
) -> None:
    (listed,) = program().get(f"/api/v1/submissions/{scored.pk}/matches").json()["results"]
    assert listed == {
        "key": str(match.pk), "track": "untargeted", "state": "played", "model": "Wise owl",
        "model_submission": scored.pk, "attack": "Boundary attack", "attack_submission": None,
        "numbers": {
            "samples": 2, "outcomes": {"adversarial": 1, "failed": 1}, "median": 15.625, "mean_queries": 50,
            "median_seconds": 0.25,
        },
    }  # fmt: skip
    assert program().get(f"/api/v1/competitions/digits/matches/{match.pk}").json() == {**listed, "samples": None}


def test_samples_of_public_images_are_shown(program: Any, match: Match) -> None:
    SampleSet.objects.update(purpose=SampleSet.Purpose.DEVELOPMENT)
    samples = program().get(f"/api/v1/competitions/digits/matches/{match.pk}").json()["samples"]
    assert [(row["sample"], row["outcome"], row["reason"]) for row in samples] == [
        (0, "adversarial", ""), (1, "failed", "limit"),
    ]  # fmt: skip
    assert samples[0]["distance"] == 1.25
    picture = program().get(f"/api/v1/competitions/digits/matches/{match.pk}/samples/0/clean.png")
    assert (picture.headers["Content-Type"], picture.content[:4]) == ("image/png", b"\x89PNG")
    for unknown in ("0/dirty", "99/clean"):
        answer = program().get(f"/api/v1/competitions/digits/matches/{match.pk}/samples/{unknown}.png")
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")


def test_a_table_is_csv_for_who_asks_for_it(program: Any, match: Match, scored: Submission) -> None:
    SampleSet.objects.update(purpose=SampleSet.Purpose.DEVELOPMENT)
    Submission.objects.update(title="=1+1")
    client = program()

    def table(path: str) -> tuple[Any, list[dict[str, str]]]:
        answer = client.get(f"/api/v1/{path}", headers={"accept": "text/csv"})
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/csv; charset=utf-8")
        assert "Accept" in answer.headers["Vary"]
        return answer, list(csv.DictReader(answer.content.decode().splitlines()))

    _, (row,) = table("submissions")
    assert (row["number"], row["title"]) == (str(scored.pk), "'=1+1"), "no formula for a spreadsheet"
    _, rows = table(f"competitions/digits/matches/{match.pk}")
    assert [(each["sample"], each["distance"]) for each in rows] == [("0", "1.25"), ("1", "30.0")]
    _, (board,) = table("competitions/digits/leaderboards/model")
    assert (board["title"], board["chosen"]) == ("'=1+1", "false")
    scored.pk, scored.commit, scored.tag = None, "2" * 40, "submission-2"
    scored.save()
    answer, rows = table("submissions?page_size=1")
    assert len(rows) == 1
    assert answer.headers["Link"].endswith('>; rel="next"'), "where the next page is"
    refused = client.get("/api/v1/submissions?state=x", headers={"accept": "text/csv"})
    assert (refused.json()["code"], refused.headers["Content-Type"]) == ("invalid", "application/problem+json")


def test_a_match_of_a_round_follows_its_releases(program: Any, match: Match, played: Round, olga: Any) -> None:
    RoundMatch.objects.create(round=played, match=match, samples=1)
    address = f"/api/v1/competitions/digits/rounds/1/matches/{match.pk}"
    assert program().get(address).status_code == 404
    assert len(program(olga).get(address).json()["samples"]) == 2
    Round.objects.update(state=Round.State.PUBLISHED)
    assert program().get(address).json()["samples"] is None
    Release.objects.create(
        round=played, part="bundle", released_at=played.planned_at, released_by=olga, content=object_store.put(b"{}")
    )
    assert len(program().get(address).json()["samples"]) == 1, "those that the outcome uses"

    def statuses() -> list[int]:
        return [program().get(f"{address}/samples/{sample}/clean.png").status_code for sample in (0, 1)]

    assert statuses() == [404, 404]
    Release.objects.create(
        round=played, part="images", released_at=played.planned_at, released_by=olga, content=object_store.put(b"{}")
    )
    assert statuses() == [200, 404]


@pytest.mark.parametrize("key", ["0", "x", "1" * 40, "1/2"])
def test_it_rejects_an_unknown_key(program: Any, match: Match, key: str) -> None:
    answer = program().get(f"/api/v1/competitions/digits/matches/{key}")
    assert (answer.status_code, answer.json()["detail"]) == (404, "there is no such match")


def test_it_rejects_a_match_of_another_competition(program: Any, match: Match, competition: Competition) -> None:
    other = Competition.objects.create(
        slug="letters", title="Letters", public=True, starts_at=competition.starts_at, ends_at=competition.ends_at,
        created_at=competition.created_at,
    )  # fmt: skip
    assert program().get(f"/api/v1/competitions/{other.slug}/matches/{match.pk}").status_code == 404
