"""Choosing which submission counts, on the pages."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import RulesVersion
from formats.query.leaderboards.models import Evaluation, Standing, SubmissionChoice
from submissions.models import Submission

BUTTON = "Make this submission count"


@pytest.fixture
def pair(shown: dict[str, Submission], rules: RulesVersion) -> tuple[Submission, Submission]:
    """Two scored models of the Owls, of which the second counts, under rules that let teams choose."""
    older, newer = shown["scored"], shown["building"]
    Submission.objects.filter(pk=newer.pk).update(state="ready", deadline=None, player=None)
    evaluation = Evaluation.objects.filter(submission=older).get()
    evaluation.pk, evaluation.submission_id = None, newer.pk
    evaluation.save()
    Standing.objects.filter(track__name="model").update(evaluation=evaluation)
    rules.values["counting_submission"] = "chosen"
    rules.save()
    return older, newer


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_a_member_chooses_an_older_submission_and_then_the_newest_again(
    client: Client, pair: tuple[Submission, Submission], bob: User, alice: User
) -> None:
    older, newer = pair
    client.force_login(bob)
    page = f"/submissions/{older.pk}"
    assert BUTTON in text_of(client, page)
    assert "The newest scored submission counts." in text_of(client, "/teams/owls")
    answer = client.post(f"{page}/choose", follow=True)
    assert f"Submission {older.pk} counts now." in answer.content.decode()
    Standing.objects.filter(track__name="model").update(
        evaluation=Evaluation.objects.filter(submission=older).first(), chosen=True
    )
    assert BUTTON not in text_of(client, page)
    assert f">Submission {older.pk}</a> counts: chosen by bob" in text_of(client, "/teams/owls")
    assert f"Submission {older.pk} counts until you choose another one" in text_of(client, page)
    assert f">submission {older.pk}</a>, which counts" in text_of(client, f"/submissions/{newer.pk}")
    client.post("/teams/owls/repositories/model/choose-newest")
    assert SubmissionChoice.objects.order_by("-pk")[0].submission is None
    assert BUTTON in text_of(client, page)


def test_everybody_sees_that_it_was_chosen_and_only_the_team_by_whom(
    client: Client, pair: tuple[Submission, Submission], bob: User
) -> None:
    Standing.objects.filter(track__name="model").update(chosen=True)
    SubmissionChoice.objects.create(
        repository=pair[1].repository, submission=pair[1], made_by=bob, made_at=pair[1].received_at
    )
    board = text_of(client, "/competitions/digits/leaderboards/model")
    assert '<span class="tag quiet">chosen</span>' in board
    assert "unless the team chose another one" in board
    team = text_of(client, "/teams/owls")
    assert "Chosen by the team." in team
    assert "chosen by bob" not in team
    assert "It counts because the team chose it." in text_of(client, f"/submissions/{pair[1].pk}")
    assert ",chosen," in client.get("/competitions/digits/leaderboards/model.csv").content.decode().split("\n")[0]
    assert client.get("/api/v1/competitions/digits/leaderboards/model").json()["rows"][0]["chosen"] is True


def test_a_choice_that_is_withdrawn_says_that_the_newest_counts(
    client: Client, pair: tuple[Submission, Submission], bob: User
) -> None:
    client.force_login(bob)
    client.post(f"/submissions/{pair[0].pk}/choose")
    client.post(f"/submissions/{pair[0].pk}/withdraw")
    page = text_of(client, "/teams/owls")
    assert f">submission {pair[0].pk}</a> was withdrawn. The newest scored one counts." in page


def test_no_page_offers_a_choice_that_the_rules_do_not_allow(
    client: Client, pair: tuple[Submission, Submission], rules: RulesVersion, bob: User
) -> None:
    del rules.values["counting_submission"]
    rules.save()
    client.force_login(bob)
    assert BUTTON not in text_of(client, f"/submissions/{pair[0].pk}")
    assert "the newest scored submission counts." in text_of(client, "/teams/owls")
    assert "It cannot be chosen by score" in text_of(client, "/competitions/digits/leaderboards/model")
    answer = client.post(f"/submissions/{pair[0].pk}/choose", follow=True)
    assert "withdraw newer submissions" in answer.content.decode().lower()


def test_organisers_see_the_choice_and_cannot_make_one(
    client: Client, pair: tuple[Submission, Submission], olga: User
) -> None:
    client.force_login(olga)
    page = text_of(client, f"/submissions/{pair[0].pk}")
    assert "The newest scored submission counts." in page
    assert BUTTON not in page
