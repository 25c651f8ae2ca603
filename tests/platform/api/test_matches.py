"""Matches in the API."""

from __future__ import annotations

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
