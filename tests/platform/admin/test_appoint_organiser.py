"""A superuser names the owner of a competition, who can then open the admin."""

from __future__ import annotations

from django.test import Client

from accounts.models import User
from competitions.models import Competition

ADD = "/admin/competitions/organiser/add/"


def test_a_superuser_makes_an_account_the_owner_who_can_then_open_the_admin(
    as_superuser: Client, competition: Competition, charlie: User
) -> None:
    done = as_superuser.post(ADD, {"competition": competition.pk, "user_name": "charlie", "role": "owner"})
    assert done.status_code == 302
    charlie.refresh_from_db()
    assert competition.organisers.get() == charlie
    client = Client()
    client.force_login(charlie)
    assert client.get("/admin/submissions/submission/").status_code == 200


def test_an_organiser_cannot_appoint_others(as_organiser: Client, competition: Competition, bob: User) -> None:
    form = {"competition": competition.pk, "user_name": "bob", "role": "helper"}
    assert as_organiser.post(ADD, form).status_code == 403
