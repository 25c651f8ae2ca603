"""Teams, their members and sign-up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client

from accounts.models import Membership, Team, User
from accounts.selectors import is_member, teams_of
from accounts.services import create_team, join, remove_member
from core.errors import Refusal
from core.models import Event

THREADS = 8


def test_a_person_who_joins_a_team_is_a_member_until_removed_and_events_record_it(alice: User, bob: User) -> None:
    team = create_team(slug="owls", name="The  Owls", captain=alice)
    join(team=team, user=bob)
    assert team.name == "The Owls"
    assert is_member(bob, team)
    assert list(teams_of(bob)) == [team]
    remove_member(team=team, user=bob, by=alice)
    assert not is_member(bob, team)
    assert set(Event.objects.values_list("verb", flat=True)) == {"make", "add_member", "remove_member"}


def test_a_member_can_leave(owls: Team, alice: User, bob: User, charlie: User) -> None:
    join(team=owls, user=charlie)
    with pytest.raises(Refusal, match="only the captain"):
        remove_member(team=owls, user=charlie, by=bob)
    remove_member(team=owls, user=charlie, by=charlie)
    assert not is_member(charlie, owls)
    assert Event.objects.filter(verb="remove_member", by=charlie).exists()
    with pytest.raises(Refusal, match="not in"):
        remove_member(team=owls, user=charlie, by=charlie)


@pytest.mark.parametrize("slug", ["", "Owls", "a--b", "owls\n", "git", "o" * 41])
def test_it_rejects_a_bad_slug(alice: User, slug: str) -> None:
    with pytest.raises(Refusal):
        create_team(slug=slug, name="Others", captain=alice)


def test_it_rejects_a_taken_name(owls: Team, charlie: User) -> None:
    with pytest.raises(Refusal, match="'owls' is taken"):
        create_team(slug="owls", name="Others", captain=charlie)
    with pytest.raises(Refusal, match="'the owls' is taken"):
        create_team(slug="others", name="the owls", captain=charlie)


def test_it_rejects_invalid_members(owls: Team, alice: User, bob: User, charlie: User) -> None:
    with pytest.raises(Refusal, match="already in"):
        join(team=owls, user=bob)
    with pytest.raises(Refusal, match="only the captain"):
        remove_member(team=owls, user=alice, by=bob)
    with pytest.raises(Refusal, match="captain"):
        remove_member(team=owls, user=alice, by=alice)
    with pytest.raises(Refusal, match="not in"):
        remove_member(team=owls, user=charlie, by=alice)


def test_a_person_signs_up_without_an_address(db: None) -> None:
    password = "correct horse battery"  # noqa: S105 - not a real password
    form = {"username": "robin", "email": "", "password1": password, "password2": password}
    response = Client().post("/accounts/signup/", form)
    assert response.status_code == 302
    assert User.objects.filter(username="robin").exists()


@pytest.mark.django_db(transaction=True)
def test_of_concurrent_requests_one_makes_the_team_and_one_joins_it() -> None:
    captain = User.objects.create_user("alice")
    bob = User.objects.create_user("bob")

    def make(_: int) -> bool:
        return _succeeds(lambda: create_team(slug="owls", name="Owls", captain=captain))

    def add(_: int) -> bool:
        return _succeeds(lambda: join(team=Team.objects.get(), user=bob))

    with ThreadPoolExecutor(THREADS) as threads:
        assert sum(threads.map(make, range(THREADS))) == 1
        assert sum(threads.map(add, range(THREADS))) == 1
    assert Membership.objects.count() == 2


def _succeeds(call: object) -> bool:
    assert callable(call)
    try:
        call()
    except Refusal:
        return False
    finally:
        connection.close()
    return True
