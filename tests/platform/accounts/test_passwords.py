"""Password changes that revoke access tokens."""

from __future__ import annotations

import re

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.test import Client
from django.urls import reverse

from accounts.device_login import DeviceRefusal, begin, decide, token_of, waiting_login
from accounts.models import AccessToken, User
from accounts.services import issue_token, use_token
from core.models import Event

OLD = "a long enough password"
NEW = "correct horse battery"


@pytest.fixture
def tokens(alice: User, charlie: User) -> list[str]:
    """Two tokens of Alice and one of Charlie."""
    return [issue_token(user=user, name="laptop", scopes=["read"], days=1)[1] for user in (alice, alice, charlie)]


def _valid(tokens: list[str]) -> list[bool]:
    return [use_token(token, "read") is not None for token in tokens]


def _change(user: User, **more: str) -> Client:
    client = Client()
    client.force_login(user)
    client.post("/accounts/password/change/", {"oldpassword": OLD, "password1": NEW, "password2": NEW, **more})
    user.refresh_from_db()
    assert user.check_password(NEW)
    return client


def test_a_changed_password_revokes_the_tokens(alice: User, tokens: list[str]) -> None:
    client = _change(alice, revoke_tokens="on")
    assert _valid(tokens) == [False, False, True]
    assert "_auth_user_id" in client.session
    event = Event.objects.get(verb="revoke_tokens")
    assert (event.by, event.data) == (alice, {"tokens": 2})


def test_a_program_that_has_not_fetched_its_token_gets_none(alice: User) -> None:
    codes = begin(client="gauntlet on host7", address="192.0.2.1")
    decide(login=waiting_login(codes.user), allowed=True, by=alice)
    _change(alice, revoke_tokens="on")
    with pytest.raises(DeviceRefusal, match="refused"):
        token_of(codes.device)
    assert not alice.tokens.exists()


def test_the_box_is_ticked_by_default(client: Client, alice: User) -> None:
    client.force_login(alice)
    page = client.get("/accounts/password/change/").content.decode()
    box = re.search(r'<input[^>]*name="revoke_tokens"[^>]*>', page)
    assert box is not None
    assert "checked" in box[0]
    assert "Also revoke my access tokens" in page


def test_a_cleared_box_keeps_the_tokens(alice: User, tokens: list[str]) -> None:
    _change(alice)
    assert _valid(tokens) == [True, True, True]


def test_a_rejected_change_revokes_nothing(client: Client, alice: User, tokens: list[str]) -> None:
    client.force_login(alice)
    wrong = {"oldpassword": "no", "password1": NEW, "password2": NEW, "revoke_tokens": "on"}
    client.post("/accounts/password/change/", wrong)
    assert _valid(tokens) == [True, True, True]


def test_tokens_revoked_earlier_keep_their_time(alice: User, tokens: list[str]) -> None:
    first = AccessToken.objects.filter(user=alice).order_by("pk")[0]
    AccessToken.objects.filter(pk=first.pk).update(revoked_at=first.created_at)
    _change(alice, revoke_tokens="on")
    first.refresh_from_db()
    assert first.revoked_at == first.created_at


def test_a_superuser_who_sets_a_password_revokes_the_tokens(
    client: Client, root_user: User, alice: User, tokens: list[str]
) -> None:
    client.force_login(root_user)
    address = reverse("admin:auth_user_password_change", args=[alice.pk])
    assert "Also revoke this person" in client.get(address).content.decode()
    data = {"password1": NEW, "password2": NEW, "usable_password": "true"}
    client.post(address, data | {"revoke_tokens": "on"})
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert _valid(tokens) == [False, False, True]


def test_a_password_reset_revokes_the_tokens(client: Client, alice: User, tokens: list[str]) -> None:
    key = {"uidb36": user_pk_to_url_str(alice), "key": default_token_generator.make_token(alice)}
    page = client.get(reverse("account_reset_password_from_key", kwargs=key), follow=True)
    assert "Also revoke my access tokens" in page.content.decode()
    form = page.redirect_chain[-1][0]
    client.post(form, {"password1": NEW, "password2": NEW, "revoke_tokens": "on"})
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert _valid(tokens) == [False, False, True]


def test_the_admin_leads_to_the_page_that_revokes_the_tokens(client: Client, root_user: User) -> None:
    client.force_login(root_user)
    page = client.get(reverse("admin:password_change"), follow=True).content.decode()
    assert "Also revoke my access tokens" in page
    client.post(reverse("admin:password_change"), {"old_password": OLD, "new_password1": NEW, "new_password2": NEW})
    root_user.refresh_from_db()
    assert root_user.check_password(OLD)
