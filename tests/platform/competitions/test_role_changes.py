"""Roles in a competition are granted, changed and taken away by owners, and an owner always stays."""

from __future__ import annotations

import pytest

from accounts.models import User
from competitions.models import Competition, Organiser
from competitions.permissions import may, require
from competitions.role_changes import active_user, change_role, grant_role, hand_over, take_role_away
from core.errors import Refusal
from core.models import Event
from core.roles import OrganiserRole, Right


@pytest.fixture
def owner(competition: Competition, root_user: User) -> Organiser:
    """Olivia, the only owner of the competition."""
    olivia = User.objects.create_user("olivia")
    return grant_role(competition=competition, user=olivia, role=OrganiserRole.OWNER, by=root_user)


def roles(competition: Competition) -> dict[str, str]:
    """Return the role of each person."""
    return dict(competition.organiser_roles.values_list("user__username", "role"))


def test_an_owner_grants_changes_and_takes_away_roles_and_each_is_an_event(
    competition: Competition, owner: Organiser, charlie: User
) -> None:
    made = grant_role(competition=competition, user=charlie, role=OrganiserRole.HELPER, by=owner.user)
    charlie.refresh_from_db()
    assert charlie.is_staff
    assert may(charlie, competition, Right.ANSWER)
    assert not may(charlie, competition, Right.SEE_SECRETS)
    change_role(organiser=made, seen=OrganiserRole.HELPER, role=OrganiserRole.JUDGE, by=owner.user)
    assert may(charlie, competition, Right.SEE_SECRETS)
    take_role_away(organiser=made, by=owner.user)
    assert not may(charlie, competition, Right.SEE)
    events = Event.objects.filter(by=owner.user).order_by("pk")
    assert [(each.verb, each.data["user"], each.data["role"]) for each in events] == [
        ("grant_role", "charlie", "helper"),
        ("change_role", "charlie", "judge"),
        ("take_role_away", "charlie", "judge"),
    ]


def test_an_owner_hands_the_competition_over(competition: Competition, owner: Organiser, charlie: User) -> None:
    hand_over(organiser=owner, to=charlie, by=owner.user, reason="A sabbatical.")
    assert roles(competition) == {"olivia": "organiser", "charlie": "owner"}
    event = Event.objects.get(verb="hand_over")
    assert (event.reason, event.data["before"]) == ("A sabbatical.", "olivia")
    with pytest.raises(Refusal, match="your role in Digits, organiser, does not allow this"):
        grant_role(
            competition=competition, user=User.objects.create_user("dora"), role=OrganiserRole.JUDGE, by=owner.user
        )


def test_it_rejects_to_remove_the_last_owner_and_changes_nothing(
    competition: Competition, owner: Organiser, root_user: User, charlie: User
) -> None:
    for by in (owner.user, root_user):
        with pytest.raises(Refusal, match="olivia is the last owner of Digits") as refused:
            take_role_away(organiser=owner, by=by)
        assert "hand the competition over" in refused.value.fix
        with pytest.raises(Refusal, match="the last owner"):
            change_role(organiser=owner, seen=OrganiserRole.OWNER, role=OrganiserRole.HELPER, by=by)
    second = grant_role(competition=competition, user=charlie, role=OrganiserRole.OWNER, by=owner.user)
    charlie.is_active = False
    charlie.save()
    with pytest.raises(Refusal, match="the last owner"):  # the other one cannot sign in
        take_role_away(organiser=owner, by=root_user)
    take_role_away(organiser=second, by=owner.user)
    assert roles(competition) == {"olivia": "owner"}


@pytest.mark.parametrize("role", [OrganiserRole.ORGANISER, OrganiserRole.JUDGE, OrganiserRole.HELPER])
def test_it_rejects_grants_by_all_but_owners(
    competition: Competition, owner: Organiser, charlie: User, role: OrganiserRole
) -> None:
    by = User.objects.create_user("dora")
    with pytest.raises(Refusal, match="only organisers of Digits"):
        grant_role(competition=competition, user=charlie, role=OrganiserRole.HELPER, by=by)
    grant_role(competition=competition, user=by, role=role, by=owner.user)
    with pytest.raises(Refusal, match=f"{role}, does not allow this") as refused:
        grant_role(competition=competition, user=charlie, role=OrganiserRole.HELPER, by=by)
    assert refused.value.fix == "ask somebody who is owner"
    with pytest.raises(Refusal, match="does not allow this"):
        take_role_away(organiser=owner, by=by)
    assert roles(competition) == {"olivia": "owner", "dora": role}


def test_it_rejects_a_form_that_was_open_while_the_role_changed(
    competition: Competition, owner: Organiser, charlie: User
) -> None:
    made = grant_role(competition=competition, user=charlie, role=OrganiserRole.HELPER, by=owner.user)
    change_role(organiser=made, seen=OrganiserRole.HELPER, role=OrganiserRole.JUDGE, by=owner.user)
    with pytest.raises(Refusal, match="charlie is judge of Digits now"):
        change_role(organiser=made, seen=OrganiserRole.HELPER, role=OrganiserRole.OWNER, by=owner.user)
    take_role_away(organiser=made, by=owner.user)
    with pytest.raises(Refusal, match="charlie has no role in Digits any more"):
        change_role(organiser=made, seen=OrganiserRole.JUDGE, role=OrganiserRole.OWNER, by=owner.user)


@pytest.mark.usefixtures("entry", "owls")
def test_it_rejects_people_who_compete_and_people_who_have_a_role(
    competition: Competition, owner: Organiser, bob: User
) -> None:
    with pytest.raises(Refusal, match="bob is in the team The Owls"):
        grant_role(competition=competition, user=bob, role=OrganiserRole.JUDGE, by=owner.user)
    with pytest.raises(Refusal, match="bob is in the team The Owls"):
        hand_over(organiser=owner, to=bob, by=owner.user, reason="So.")
    with pytest.raises(Refusal, match="olivia is owner of Digits already"):
        grant_role(competition=competition, user=owner.user, role=OrganiserRole.JUDGE, by=owner.user)
    assert roles(competition) == {"olivia": "owner"}


def test_it_rejects_a_first_role_that_is_no_owner(competition: Competition, root_user: User, charlie: User) -> None:
    with pytest.raises(Refusal, match="Digits has no owner"):
        grant_role(competition=competition, user=charlie, role=OrganiserRole.JUDGE, by=root_user)


def test_it_rejects_names_without_an_active_account(charlie: User) -> None:
    assert active_user(" charlie ") == charlie
    charlie.is_active = False
    charlie.save()
    for name in ("charlie", "nobody"):
        with pytest.raises(Refusal, match=f"no active account has the user name {name}"):
            active_user(name)


def test_a_role_is_that_of_one_competition(competition: Competition, owner: Organiser, charlie: User) -> None:
    other = Competition.objects.create(
        slug="letters", title="Letters", starts_at=competition.starts_at, ends_at=competition.ends_at,
        created_at=competition.created_at,
    )  # fmt: skip
    Organiser.objects.create(competition=other, user=charlie, role=OrganiserRole.OWNER)
    Organiser.objects.create(competition=competition, user=charlie, role=OrganiserRole.HELPER)
    require(charlie, other, Right.RUN)
    with pytest.raises(Refusal, match="your role in Digits, helper"):
        require(charlie, competition, Right.RUN)
