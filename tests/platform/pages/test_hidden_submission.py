"""A submission that the organisers have hidden: nobody else reads its title, and its team sees its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards, SampleSet
from core import clock
from core.errors import Refusal
from core.models import Event
from core.roles import OrganiserRole
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.snapshots_and_freezes import take_snapshot
from formats.query.matches.models import Match
from rounds.models import RoundEntry
from submissions import hiding
from submissions.models import HIDDEN_TITLE, Player, Submission
from tests.platform.pages.test_permissions import EVERYONE, LISTS, TABLE, address, clients, enter, keys

__all__ = ["clients", "keys"]

TITLE = "ab9f2c-leaked"
"""A title that stands nowhere else."""

OUTSIDE = ("anonymous", "charlie")

GONE = {"submission", "challenge_new"}
"""Addresses of the submission itself that everybody read before, or saw that they are for its team."""


@pytest.fixture
def hidden(keys: dict[str, str], shown: dict[str, Submission], olga: User) -> Submission:
    """The scored submission of the Owls, on the leaderboard and in a published round; its model is an opponent, too."""
    submission = Submission.objects.get(pk=shown["scored"].pk)
    Submission.objects.filter(pk=submission.pk).update(title=TITLE, disqualified_at=None, disqualified_for="")
    in_round = RoundEntry.objects.filter(submission=submission).values("player")
    Player.objects.filter(pk__in=in_round).update(title=TITLE)
    Submission.objects.filter(pk=submission.pk).update(player=Match.objects.earliest("pk").model_id)
    Player.objects.filter(pk=Match.objects.earliest("pk").model_id).update(title=TITLE)
    RoundEntry.objects.filter(submission=submission).update(player=Match.objects.earliest("pk").model_id)
    take_snapshot(track=submission.repository.track, reason="a copy")
    submission.refresh_from_db()
    return submission


def readable(keys: dict[str, str]) -> Iterator[tuple[str, str, Sequence[int]]]:
    """Yield the name and the address of all that others read or sign in for, and its status for each role."""
    for row in TABLE:
        if row.method == "get" and {200, 302} & set(row.statuses[:2]):
            yield row.name, address(row.name, row.args, keys), row.statuses
    for path in (*LISTS, f"/search?q={TITLE}"):
        yield "lists", path, EVERYONE
    yield "board", f"/competitions/digits/leaderboards/model?compare={keys['scored']}", EVERYONE
    yield "curves", f"/competitions/digits/curves/model?submission={keys['scored']}", EVERYONE


def test_no_page_shows_the_title_to_others(
    clients: dict[str, Client], keys: dict[str, str], hidden: Submission, olga: User
) -> None:
    before, named = {}, 0
    for _, path, _ in readable(keys):  # what is kept for all readers, too
        answer = clients["anonymous"].get(path)
        named += TITLE.encode() in answer.getvalue() and "q=" not in path
        before[path] = answer.status_code
    assert named > 8
    hiding.hide(submission=hidden, by=olga, reason="It names a password.")
    for name, path, (public, *others) in readable(keys):
        usual = {"anonymous": before[path], "charlie": before[path] if others[0] == public else others[0]}
        for role in OUTSIDE:
            answer = clients[role].get(path)
            text = answer.getvalue()
            if "q=" not in path:  # a search repeats what was asked for
                assert TITLE.encode() not in text, path
            assert b"It names a password" not in text, path
            of_it = name in GONE and path.startswith(f"/submissions/{hidden.pk}")
            signs_in = usual[role] == 302
            assert answer.status_code == (404 if of_it and not signs_in else usual[role]), f"{path} as {role}"
    for role in OUTSIDE:
        board = clients[role].get("/competitions/digits/leaderboards/model").text
        assert HIDDEN_TITLE in board
        assert "The Owls" in board
        assert "The organisers have hidden this submission" in clients[role].get(f"/submissions/{hidden.pk}").text
    hiding.show_again(submission=hidden, by=olga, reason="The password was changed.")
    for role in OUTSIDE:
        assert TITLE in clients[role].get("/competitions/digits/leaderboards/model").text
        assert TITLE in clients[role].get(f"/submissions/{hidden.pk}").text


def test_a_frozen_leaderboard_has_the_label(client: Client, hidden: Submission, olga: User) -> None:
    board = "/competitions/digits/leaderboards/model"
    FrozenLeaderboards.objects.create(competition=hidden.repository.entry.competition, since=clock.database_now())
    assert TITLE in client.get(board).text
    hiding.hide(submission=hidden, by=olga, reason="It names a password.")
    for page in (board, f"{board}.csv", "/", "/leaderboards", "/teams/owls"):
        text = client.get(page).content.decode()
        assert TITLE not in text, page
    assert HIDDEN_TITLE in client.get(board).text


def test_another_submission_of_that_title_keeps_it_on_a_frozen_leaderboard(
    client: Client, hidden: Submission, shown: dict[str, Submission], olga: User
) -> None:
    competition = hidden.repository.entry.competition
    FrozenLeaderboards.objects.create(competition=competition, since=clock.database_now())
    other = shown["rejected"]
    Submission.objects.filter(pk=other.pk).update(title=TITLE)
    hiding.hide(submission=other, by=olga, reason="It copies a title.")
    assert TITLE in client.get("/competitions/digits/leaderboards/model").text


@pytest.mark.parametrize("role", ["bob", "olga"])
def test_team_and_organisers_see_the_page_and_the_reason(
    client: Client, hidden: Submission, olga: User, role: str
) -> None:
    hiding.hide(submission=hidden, by=olga, reason="It names a password.")
    enter(client, role)
    page = client.get(f"/submissions/{hidden.pk}").text
    assert f"The organisers have hidden “{TITLE}”" in page
    assert "It names a password." in page


def test_a_player_has_the_label_while_one_of_its_submissions_is_hidden(
    shown: dict[str, Submission], hidden: Submission, olga: User
) -> None:
    other = shown["rejected"]
    Submission.objects.filter(pk=other.pk).update(player=hidden.player)
    for submission in (hidden, other):
        hiding.hide(submission=submission, by=olga, reason="the same content")
    hiding.show_again(submission=hidden, by=olga, reason="")
    assert Player.objects.get(submissions=hidden).title == HIDDEN_TITLE
    hiding.show_again(submission=other, by=olga, reason="")
    assert Player.objects.get(submissions=hidden).title == TITLE
    assert [event.sentence for event in Event.objects.filter(subject=f"submission:{hidden.pk}").order_by("pk")] == [
        f"olga hid submission {hidden.pk}.",
        f"olga showed submission {hidden.pk} again.",
    ]


def test_the_pictures_of_a_hidden_attack_are_not_public(client: Client, hidden: Submission, olga: User) -> None:
    match = Match.objects.earliest("pk")
    SampleSet.objects.filter(pk=match.sample_set_id).update(purpose="development")
    perturbed, clean = (reverse("pages:match_image", args=[match.pk, 1, name]) for name in ("perturbed", "clean"))
    assert [client.get(path).status_code for path in (perturbed, clean)] == [200, 200]
    Player.objects.filter(pk=match.attack_id).update(given_title="An attack", title=HIDDEN_TITLE)
    assert [client.get(path).status_code for path in (perturbed, clean)] == [404, 200]
    client.force_login(olga)
    assert client.get(perturbed).status_code == 200


def test_it_rejects_who_may_not_hide_and_changes_nothing(
    hidden: Submission, competition: Competition, alice: User, olga: User
) -> None:
    with pytest.raises(Refusal, match="only organisers of"):
        hiding.hide(submission=hidden, by=alice, reason="mine")
    with pytest.raises(Refusal, match="needs a reason"):
        hiding.hide(submission=hidden, by=olga, reason=" ")
    with pytest.raises(Refusal, match="is not hidden"):
        hiding.show_again(submission=hidden, by=olga, reason="")
    competition.organiser_roles.filter(user=olga).update(role=OrganiserRole.HELPER)
    with pytest.raises(Refusal, match="does not allow this"):
        hiding.hide(submission=hidden, by=olga, reason="It names a password.")
    assert Submission.objects.get(pk=hidden.pk).title == TITLE
    competition.organiser_roles.filter(user=olga).update(role=OrganiserRole.OWNER)
    hiding.hide(submission=hidden, by=olga, reason="It names a password.")
    with pytest.raises(Refusal, match="is already hidden"):
        hiding.hide(submission=hidden, by=olga, reason="Again.")
    assert Evaluation.objects.get(submission=hidden).value == 1.25
