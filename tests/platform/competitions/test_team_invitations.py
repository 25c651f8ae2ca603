"""Invitations into a team, and what they must not reveal."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from accounts.models import Invitation, Membership, User
from accounts.selectors import is_member
from accounts.sign_up import approve, request_account
from competitions.models import Competition, Entry, Organiser
from competitions.selectors import invitations_of
from competitions.services import make_team
from competitions.team_invitations import accept, decline, invite, withdraw_invitation
from core.errors import Refusal, RefusedForNow
from core.models import Event

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock

THREADS = 6


def verbs() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("verb", flat=True))


def test_a_person_who_accepts_an_invitation_becomes_a_member(entry: Entry, alice: User, charlie: User) -> None:
    invitation = invite(entry=entry, username=" charlie ", by=alice)
    assert not is_member(charlie, entry.team)
    assert list(invitations_of(charlie)) == [invitation]
    accept(invitation=invitation, by=charlie)
    assert Membership.objects.get(user=charlie).role == "member"
    assert invitation.state == "accepted"
    assert not invitations_of(charlie).exists()
    assert verbs() == ["invite", "accept_invitation", "add_member"]


def test_a_person_who_declines_can_be_invited_again(entry: Entry, alice: User, charlie: User) -> None:
    invitation = invite(entry=entry, username="charlie", by=alice)
    decline(invitation=invitation, by=charlie)
    assert (invitation.state, is_member(charlie, entry.team)) == ("declined", False)
    with pytest.raises(Refusal, match="is already declined"):
        accept(invitation=invitation, by=charlie)
    invite(entry=entry, username="charlie", by=alice)
    assert invitations_of(charlie).count() == 1


def test_a_captain_withdraws_it(entry: Entry, alice: User, bob: User, charlie: User) -> None:
    invitation = invite(entry=entry, username="charlie", by=alice)
    with pytest.raises(Refusal, match="only the captain"):
        withdraw_invitation(invitation=invitation, by=bob)
    withdraw_invitation(invitation=invitation, by=alice)
    assert not invitations_of(charlie).exists()
    with pytest.raises(Refusal, match="is already withdrawn"):
        accept(invitation=invitation, by=charlie)


def test_a_name_is_found_in_any_case_as_at_the_sign_in(entry: Entry, alice: User, charlie: User) -> None:
    invitation = invite(entry=entry, username="Charlie", by=alice)
    assert list(invitations_of(charlie)) == [invitation]
    for name, problem in (("CHARLIE", "CHARLIE is already invited"), ("Bob", "Bob is already in The Owls")):
        with pytest.raises(Refusal, match=problem):
            invite(entry=entry, username=name, by=alice)
    withdraw_invitation(invitation=invitation, by=alice)
    User.objects.create_user("CHARLIE")
    invite(entry=entry, username="Charlie", by=alice)
    assert not invitations_of(charlie).exists()


def test_it_does_not_reveal_who_has_an_account_or_organises(
    entry: Entry, alice: User, charlie: User, olga: User, root_user: User
) -> None:
    User.objects.create_user("gone", is_active=False)
    for name in ("charlie", "olga", "root", "gone", "nobody"):
        invitation = invite(entry=entry, username=name, by=alice)
        assert (invitation.username, invitation.state) == (name, "open")
        with pytest.raises(Refusal, match=f"{name} is already invited"):
            invite(entry=entry, username=name, by=alice)
    assert invitations_of(charlie).count() == 1
    assert not invitations_of(olga).exists()
    assert not invitations_of(root_user).exists()


def test_a_person_waiting_for_approval_sees_the_invitation_afterwards(
    entry: Entry, alice: User, root_user: User
) -> None:
    dora = User.objects.create_user("dora", is_active=False)
    request = request_account(dora)
    invitation = invite(entry=entry, username="dora", by=alice)
    approve(request=request, by=root_user)
    dora.refresh_from_db()
    assert list(invitations_of(dora)) == [invitation]
    accept(invitation=invitation, by=dora)
    assert is_member(dora, entry.team)


def test_an_account_made_later_is_not_invited_by_its_name(entry: Entry, alice: User) -> None:
    invitation = invite(entry=entry, username="nobody", by=alice)
    nobody = User.objects.create_user("nobody")
    assert not invitations_of(nobody).exists()
    with pytest.raises(Refusal, match="belongs to another person"):
        accept(invitation=invitation, by=nobody)


def test_a_new_organiser_cannot_accept(entry: Entry, alice: User, charlie: User, competition: Competition) -> None:
    invitation = invite(entry=entry, username="charlie", by=alice)
    Organiser.objects.create(competition=competition, user=charlie)
    assert not invitations_of(charlie).exists()
    with pytest.raises(Refusal, match="organisers of Digits cannot compete"):
        accept(invitation=invitation, by=charlie)
    assert not is_member(charlie, entry.team)


def test_a_member_of_another_team_cannot_accept(
    entry: Entry, alice: User, charlie: User, competition: Competition
) -> None:
    invitation = invite(entry=entry, username="charlie", by=alice)
    make_team(slug="newts", name="Newts", captain=charlie, competition=competition)
    assert not invitations_of(charlie).exists()
    with pytest.raises(Refusal, match="already in the team Newts"):
        accept(invitation=invitation, by=charlie)
    assert invitation.state == "open"


def test_an_expired_invitation_can_be_sent_again(
    entry: Entry, alice: User, charlie: User, the_clock: FakeClock
) -> None:
    invitation = invite(entry=entry, username="charlie", by=alice)
    the_clock.forward(days=15)
    assert not invitations_of(charlie).exists()
    with pytest.raises(Refusal, match="has expired"):
        accept(invitation=invitation, by=charlie)
    accept(invitation=invite(entry=entry, username="charlie", by=alice), by=charlie)
    assert is_member(charlie, entry.team)


def test_nobody_is_invited_or_joins_after_the_end(entry: Entry, alice: User, charlie: User) -> None:
    invitation = invite(entry=entry, username="charlie", by=alice)
    Competition.objects.update(ends_at=entry.competition.starts_at + (entry.joined_at - entry.competition.starts_at))
    entry.refresh_from_db()
    assert not invitations_of(charlie).exists()
    with pytest.raises(Refusal, match="has ended"):
        accept(invitation=invitation, by=charlie)
    with pytest.raises(Refusal, match="has ended"):
        invite(entry=entry, username="dora", by=alice)


def test_nobody_is_invited_or_joins_in_an_archived_competition(entry: Entry, alice: User, charlie: User) -> None:
    invitation = invite(entry=entry, username="charlie", by=alice)
    Competition.objects.update(archived_at=entry.joined_at)
    entry.competition.refresh_from_db()
    with pytest.raises(Refusal, match="was archived at"):
        invite(entry=entry, username="dora", by=alice)
    with pytest.raises(Refusal, match="was archived at"):
        accept(invitation=invitation, by=charlie)


def test_it_rejects_invalid_invitations(entry: Entry, alice: User, bob: User) -> None:
    with pytest.raises(Refusal, match="only the captain"):
        invite(entry=entry, username="charlie", by=bob)
    with pytest.raises(Refusal, match="bob is already in The Owls"):
        invite(entry=entry, username="bob", by=alice)
    with pytest.raises(Refusal, match="user name is missing"):
        invite(entry=entry, username=" ", by=alice)


def test_it_rejects_answers_from_others(entry: Entry, alice: User, bob: User, charlie: User) -> None:
    invitation = invite(entry=entry, username="charlie", by=alice)
    for call in (accept, decline):
        with pytest.raises(Refusal, match="belongs to another person"):
            call(invitation=invitation, by=alice)


def test_invitations_per_hour_are_limited(entry: Entry, alice: User, the_clock: FakeClock) -> None:
    for number in range(20):
        the_clock.forward(seconds=1)
        withdraw_invitation(invitation=invite(entry=entry, username=f"guess-{number}", by=alice), by=alice)
    with pytest.raises(RefusedForNow, match="20 invitations in the last hour") as refused:
        invite(entry=entry, username="charlie", by=alice)
    the_clock.at = refused.value.accepted_from
    invite(entry=entry, username="charlie", by=alice)


@pytest.mark.django_db(transaction=True)
def test_of_two_invitations_accepted_concurrently_one_succeeds(
    entry: Entry, alice: User, charlie: User, competition: Competition
) -> None:
    dora = User.objects.create_user("dora")
    other = make_team(slug="newts", name="Newts", captain=dora, competition=competition)
    invitations = [
        invite(entry=entry, username="charlie", by=alice),
        invite(entry=other, username="charlie", by=dora),
    ]

    def answer(number: int) -> bool:
        try:
            accept(invitation=Invitation.objects.get(pk=invitations[number % 2].pk), by=charlie)
        except Refusal:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(THREADS) as threads:
        assert sum(threads.map(answer, range(THREADS))) == 1
    assert Membership.objects.filter(user=charlie).count() == 1
    assert Invitation.objects.filter(state="accepted").count() == 1
