"""A superuser makes somebody an organiser in the admin, and the admin is then open to them."""

from __future__ import annotations

from django.test import Client

from accounts.models import User
from competitions.models import Competition

ADD = "/admin/competitions/organiser/add/"


def test_it_works(as_superuser: Client, competition: Competition, charlie: User) -> None:
    done = as_superuser.post(ADD, {"competition": competition.pk, "user": charlie.pk})
    assert done.status_code == 302
    charlie.refresh_from_db()
    assert competition.organisers.get() == charlie
    theirs = Client()
    theirs.force_login(charlie)
    assert theirs.get("/admin/submissions/submission/").status_code == 200


def test_it_rejects_an_organiser_who_appoints_others(as_organiser: Client, competition: Competition, bob: User) -> None:
    assert as_organiser.post(ADD, {"competition": competition.pk, "user": bob.pk}).status_code == 403
