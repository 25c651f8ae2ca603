"""What the API answers of the transfer format, to the order of the fields."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import FreezeWindow, FrozenLeaderboards
from formats.transfer.tournaments import services
from formats.transfer.tournaments.models import Tournament
from rounds.models import Round, RoundEntry
from submissions.models import Submission
from tests.platform.api.openapi import check_answer, document
from tests.platform.formats.transfer.tournaments.pages.conftest import Send

STANDING = [
    *("rank", "rank_low", "rank_high", "score", "low", "high", "raw", "worst", "coverage", "opponents"),
    *("median_seconds", "repeated", "changed", "inconsistent", "entered_at"),
]
PUBLIC = [
    *("number", "competition", "team", "track", "title", "state", "received_at", "disqualified_at"),
    *("baseline_at", "progress", "evaluation", "standing", "runs", "best_known"),
]
TEAM = [
    *("commit", "tag", "licence", "submitted_by", "state_since", "cause", "reason", "problem", "fix"),
    *("disqualified_for", "baseline_for", "hidden_at", "hidden_for", "given_title", "slot", "builds"),
]


def test_a_leaderboard_has_its_rows_and_who_is_under_way(client: Client, played: Tournament, send: Send) -> None:
    send("bats", "attack", "Darker")
    services.advance(played)
    board = client.get("/api/v1/competitions/transfer/leaderboards/attack").json()
    assert list(board) == ["frozen_since", "rows", "under_way"]
    about = ["team", "team_name", "ineligible_for_prizes", "baseline", "submission", "title"]
    assert [list(row) for row in board["rows"]] == [[*STANDING, *about]] * 2
    assert board["under_way"] == [
        {
            "team": "bats",
            "team_name": "The Bats",
            "submission": Submission.objects.get(title="Darker").pk,
            "title": "Darker",
            "played": 0,
            "needed": 2,
        }
    ]


def test_a_submission_has_its_standing_or_its_runs(client: Client, played: Tournament, send: Send) -> None:
    newer = send("bats", "attack", "Darker")
    services.advance(played)
    counted = client.get(f"/api/v1/submissions/{Submission.objects.get(title='Brighter').pk}").json()
    assert list(counted) == PUBLIC
    assert (counted["evaluation"], counted["runs"]) == (None, None)
    assert list(counted["standing"]) == STANDING
    progress = counted["progress"]
    assert (progress["final"], progress["score"], progress["rank"]) == (
        True, counted["standing"]["score"], counted["standing"]["rank"],
    )  # fmt: skip
    client.force_login(newer.submitted_by)
    shown = client.get(f"/api/v1/submissions/{newer.pk}").json()
    assert {*shown} == {*PUBLIC, *TEAM}
    assert (shown["evaluation"], shown["standing"], shown["runs"]) == (None, None, {"played": 0, "needed": 2})
    assert shown["progress"] == {"final": False, "score": None, "rank": None, "problem": ""}


def test_a_submission_that_a_newer_one_replaced_is_final_without_a_score(
    client: Client, played: Tournament, send: Send
) -> None:
    replaced, newest = send("bats", "attack", "Darker"), send("bats", "attack", "Darkest")
    services.advance(played)
    progress = [client.get(f"/api/v1/submissions/{each.pk}").json()["progress"] for each in (replaced, newest)]
    assert [each["final"] for each in progress] == [True, False]


@pytest.fixture
def published(played: Tournament, sent: dict[str, Submission]) -> Round:
    """A published round that the Owls' attack won."""
    competition, at = played.competition, played.made_at
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=at, ends_at=at + timedelta(days=3), reason="the final"
    )
    made = Round.objects.create(
        competition=competition, number=1, title="Round 1", kind=Round.Kind.FINAL, window=window,
        sample_set=played.sample_set, salt="the secret salt", commitment="c0ffee" * 10, planned_at=at, state_since=at,
        state=Round.State.PUBLISHED, outcome="0dd" * 21,
    )  # fmt: skip
    Tournament.objects.filter(pk=played.pk).update(round=made)
    first = sent["attack"]
    assert first.player is not None
    places: dict[str, Any] = {"place": 1, "stage": 1, "value": 1 / 3, "opponents": 1}
    RoundEntry.objects.create(
        round=made, track=first.repository.track, submission=first, player=first.player, order=1, prior=1, **places
    )
    return made


def test_a_published_round_has_shares_and_no_warnings(client: Client, published: Round) -> None:
    shown = client.get("/api/v1/competitions/transfer/rounds/1").json()
    assert list(shown)[-6:] == ["outcome", "provisional", "standings", "warnings", "releases", "for_organisers"]
    assert list(shown["standings"]) == ["attack", "targeted_attack", "defence"]
    (row,) = shown["standings"]["attack"]
    assert list(row) == [
        *("place", "team", "team_name", "submission", "title", "rank_low", "rank_high", "score", "low", "high"),
        *("raw", "worst", "coverage", "opponents", "eligible", "ineligible_because", "gone"),
    ]
    assert (row["place"], row["team"], row["score"], row["opponents"]) == (1, "owls", 0.333333, 1)
    assert shown["warnings"] == []


def test_pairs_are_matches_as_far_as_the_reader_sees_them(
    client: Client, played: Tournament, sent: dict[str, Submission], rita: User
) -> None:
    address = f"/api/v1/submissions/{sent['attack'].pk}/matches"
    pair, *_ = client.get(address).json()["results"]
    assert (pair["track"], pair["attack"], pair["attack_submission"]) == ("attack", "Brighter", sent["attack"].pk)
    assert pair["model_submission"] == sent["defence"].pk
    assert set(pair["numbers"]) == {"images", "made", "labelled", "correct", "hits", "success", "low", "high"}
    shown = f"/api/v1/competitions/transfer/matches/{pair['key']}"
    assert client.get(shown).json() == {**pair, "samples": None}
    attack, _, defence = pair["key"].partition("/")
    for other in (f"{defence}/{attack}", f"{attack}/0", f"{attack}", "x/y"):
        assert client.get(f"/api/v1/competitions/transfer/matches/{other}").status_code == 404
    assert client.get("/api/v1/competitions/transfer/leaderboards/attack?at=2026-11-01").json()["code"] == "rejected"
    assert [row["rank"] for row in client.get(f"/api/v1/submissions/{sent['attack'].pk}/evaluations").json()["results"]]

    FrozenLeaderboards.objects.create(competition=played.competition, since=played.made_at)
    assert client.get(address).json()["results"] == []
    assert client.get(shown).status_code == 404
    assert client.get(f"/api/v1/submissions/{sent['attack'].pk}/evaluations").json()["results"] == []
    progress = client.get(f"/api/v1/submissions/{sent['attack'].pk}").json()["progress"]
    assert progress == {"final": True, "score": None, "rank": None, "problem": ""}
    client.force_login(sent["attack"].submitted_by)
    assert pair in client.get(address).json()["results"]
    assert client.get(shown).status_code == 404, "the page of a pair is hidden from teams, too"
    client.force_login(rita)
    assert client.get(shown).status_code == 200


def test_pairs_of_a_round_are_shown_after_its_publication(
    client: Client, published: Round, sent: dict[str, Submission]
) -> None:
    attack, defence = sent["attack"].player_id, sent["defence"].player_id
    address = f"/api/v1/competitions/transfer/rounds/1/matches/{attack}/{defence}"
    assert client.get(address).json()["attack"] == "Brighter"
    Round.objects.update(state=Round.State.SCORED)
    assert client.get(address).status_code == 404


def test_answers_are_as_the_document_says(client: Client, published: Round, sent: dict[str, Submission]) -> None:
    described, number = document(client), sent["attack"].pk
    for path in (
        "competitions/{slug}/leaderboards/{track_name}", "competitions/{slug}/rounds/{number}",
        "submissions/{number}", "submissions/{number}/evaluations", "submissions/{number}/matches",
    ):  # fmt: skip
        named = {"slug": "transfer", "track_name": "attack", "number": 1 if "rounds" in path else number}
        check_answer(described, f"/api/v1/{path}", "get", client.get(f"/api/v1/{path.format(**named)}"))


def test_it_rejects_a_choice_where_the_newest_counts(client: Client, played: Tournament, sent: Any) -> None:
    client.force_login(sent["attack"].submitted_by)
    answer = client.post(f"/api/v1/submissions/{sent['attack'].pk}/choose")
    assert (answer.status_code, answer.json()["code"]) == (400, "rejected")
    assert "the newest submission of a team counts" in answer.json()["detail"]
