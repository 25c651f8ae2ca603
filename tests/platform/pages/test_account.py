"""Accounts, tokens and teams, through the pages."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.models import AccessToken, Invitation, Team, User
from competitions.models import Competition
from submissions.models import Submission

TOKEN = re.compile(r"gtl_[\w-]{43}")


def test_a_person_signs_up_founds_a_team_and_makes_and_revokes_a_token(
    client: Client, competition: Competition
) -> None:
    secret = "a long enough password"  # noqa: S105 - of nobody
    answer = client.post(
        "/accounts/signup/", {"username": "dora", "password1": secret, "password2": secret}, follow=True
    )
    assert "dora" in answer.content.decode()
    answer = client.post("/competitions/digits/teams/new", {"slug": "doves", "name": "The Doves"}, follow=True)
    assert "You are its captain" in answer.content.decode()
    assert Team.objects.get().memberships.get().user.username == "dora"
    made = client.post("/account", {"name": "laptop", "scopes": ["read", "submit"], "days": "90"})
    assert TOKEN.search(made.content.decode())
    assert "no-store" in made.headers["Cache-Control"]
    assert not TOKEN.search(client.get("/account").content.decode())
    token = AccessToken.objects.get()
    client.post(f"/account/tokens/{token.pk}/revoke")
    token.refresh_from_db()
    assert token.revoked_at


def test_a_captain_invites_and_removes_members(
    client: Client, shown: dict[str, Submission], alice: User, charlie: User, owls: Team
) -> None:
    client.force_login(alice)
    answer = client.post("/teams/owls/invitations", {"username": "charlie"}, follow=True).content.decode()
    assert "If the account charlie exists, it has an invitation now." in answer
    assert "Withdraw<span" in answer
    assert owls.memberships.count() == 2
    client.force_login(charlie)
    page = client.get("/account").content.decode()
    accept = re.search(r"/invitations/\d+/accept", page)
    assert accept is not None
    assert "You are now a member of The Owls." in client.post(accept[0], follow=True).content.decode()
    assert owls.memberships.count() == 3
    client.force_login(alice)
    client.post(f"/teams/owls/members/{charlie.pk}/remove")
    assert owls.memberships.count() == 2


def test_invitations_are_declined_and_withdrawn(
    client: Client, shown: dict[str, Submission], alice: User, charlie: User, owls: Team
) -> None:
    for action, user, text in (
        ("invitations/{}/decline", charlie, "You declined the invitation to The Owls."),
        ("teams/owls/invitations/{}/withdraw", alice, "The invitation of charlie is withdrawn."),
    ):
        client.force_login(alice)
        client.post("/teams/owls/invitations", {"username": "charlie"})
        number = owls.invitations.get(state="open").pk
        client.force_login(user)
        assert text in client.post(f"/{action.format(number)}", follow=True).content.decode()
    assert owls.memberships.count() == 2


@pytest.mark.usefixtures("the_clock", "shown", "charlie", "olga")
def test_an_invitation_does_not_reveal_whether_an_account_exists(client: Client, alice: User) -> None:
    """The page is the same for a user, an organiser and an unknown name."""
    client.force_login(alice)
    pages = []
    for name in ("charlie", "olga", "nobody"):
        page = client.post("/teams/owls/invitations", {"username": name}, follow=True).content.decode()
        pages.append(re.sub(r"invitations/\d+|csrfmiddlewaretoken[^>]*|nonce=\S+", "", page.replace(name, "NAME")))
        client.post(f"/teams/owls/invitations/{Invitation.objects.get(state='open').pk}/withdraw", follow=True)
    assert pages[0] == pages[1] == pages[2]


def test_a_member_leaves(client: Client, shown: dict[str, Submission], bob: User, owls: Team) -> None:
    client.force_login(bob)
    page = client.post(f"/teams/owls/members/{bob.pk}/remove", follow=True).content.decode()
    assert "You left The Owls." in page
    assert "Leave the team" not in page
    assert owls.memberships.get().role == "captain"


def test_it_rejects_a_team_with_a_name_that_is_taken(
    client: Client, owls: Team, alice: User, competition: Competition
) -> None:
    client.force_login(alice)
    answer = client.post("/competitions/digits/teams/new", {"slug": "owls", "name": "Other owls"})
    assert answer.status_code == 200
    assert Team.objects.count() == 1
    assert 'role="alert"' in answer.content.decode()


def test_it_rejects_a_token_without_end(client: Client, alice: User) -> None:
    client.force_login(alice)
    answer = client.post("/account", {"name": "laptop", "scopes": ["read"], "days": "100000"}).content.decode()
    assert "errorlist" in answer
    assert not AccessToken.objects.exists()


def test_it_rejects_an_invitation_of_a_member(client: Client, shown: dict[str, Submission], alice: User) -> None:
    client.force_login(alice)
    answer = client.post("/teams/owls/invitations", {"username": "bob"}, follow=True)
    assert "Bob is already in The Owls." in answer.content.decode()
    assert not Invitation.objects.exists()


def test_it_rejects_an_acceptance_by_a_member_of_another_team(
    client: Client, shown: dict[str, Submission], alice: User, charlie: User, owls: Team
) -> None:
    client.force_login(alice)
    client.post("/teams/owls/invitations", {"username": "charlie"})
    client.force_login(charlie)
    for _ in range(2):  # a form that is sent twice leads to what it made
        sent = client.post("/competitions/digits/teams/new", {"slug": "doves", "name": "The Doves"})
        assert sent.headers["Location"] == "/teams/doves"
    assert client.get("/competitions/digits/teams/new").headers["Location"] == "/teams/doves"
    answer = client.post(f"/invitations/{owls.invitations.get().pk}/accept", follow=True).content.decode()
    assert "You are already in the team The Doves (doves) of Digits." in answer
    assert owls.memberships.count() == 2


def test_it_rejects_a_commit_that_is_not_there(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    answer = client.post("/teams/owls/repositories/targeted/submit", {"commit": "abcdef0"}, follow=True)
    page = answer.content.decode()
    assert "The repository has no commit" in page
    assert "Push it first, then submit it." in page


def test_a_sign_in_during_a_form_leads_back_to_its_page(client: Client, shown: dict[str, Submission]) -> None:
    sent, page = "/teams/owls/repositories/model/submit", "/teams/owls?track=model"
    for given, then in (
        (f"http://testserver{page}", page),
        ("https://elsewhere.example/teams/owls", "/"),
        ("", "/"),
    ):
        answer = client.post(sent, headers={"Referer": given})
        assert answer.headers["Location"] == f"/accounts/login/?{urlencode({'next': then}, safe='/')}"
    assert client.get("/account?a=b").headers["Location"] == "/accounts/login/?next=/account%3Fa%3Db"
