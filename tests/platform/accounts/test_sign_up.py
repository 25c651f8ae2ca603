"""Sign-up in each mode of `GAUNTLET_SIGN_UP`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from allauth.account.models import EmailAddress, EmailConfirmation
from django.apps import apps
from django.conf import settings as configured
from django.core import mail
from django.core.cache import cache
from django.core.checks import run_checks
from django.core.mail.backends.locmem import EmailBackend
from django.core.signing import Signer
from django.db import connection
from django.test import Client
from django.urls import include, path, reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import AccountRequest, SignUpLink, User
from accounts.sign_up import approve, decline, key_of, link_of, make_link, withdraw_link
from core.errors import Refusal
from core.models import Event

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock

PASSWORD = "correct horse battery"  # noqa: S105 - not a real password
urlpatterns = [path("accounts/", include("allauth.urls")), path("", include("config.urls"))]
"""Those of a site with a mail server."""

SHOW = """
import importlib, os
from config import settings
for mode in ("", "email", "approval", "invitation"):
    os.environ["GAUNTLET_SIGN_UP"] = mode
    s = importlib.reload(settings)
    print(s.SIGN_UP, s.ACCOUNT_EMAIL_VERIFICATION, s.ACCOUNT_SIGNUP_FIELDS[1])
"""


def _set_mode(settings: Settings, mode: str) -> None:
    """Set the settings of a mode, as `test_the_environment_chooses_the_mode` checks them."""
    settings.SIGN_UP = mode
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory" if mode == "email" else "none"
    email = "email*" if mode in {"email", "approval"} else "email"
    settings.ACCOUNT_SIGNUP_FIELDS = ["username*", email, "password1*", "password2*"]


def _sign_up(client: Client, name: str = "robin", email: str = "robin@example.org") -> str:
    """Return the last page of a sign-up."""
    form = {"username": name, "email": email, "password1": PASSWORD, "password2": PASSWORD}
    return client.post("/accounts/signup/", form, follow=True).content.decode()


def _log_in(client: Client, name: str = "robin") -> str:
    return client.post("/accounts/login/", {"login": name, "password": PASSWORD}, follow=True).content.decode()


def _is_logged_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_the_environment_chooses_the_mode(tmp_path: Path) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "GAUNTLET_STATE": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{configured.ROOT / 'platform'}",
    }
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "open none email",
        "email mandatory email*",
        "approval none email*",
        "invitation none email",
    ]


def test_anybody_signs_up_where_it_is_open(db: None) -> None:
    client = Client()
    _sign_up(client, email="")
    assert _is_logged_in(client)


def test_an_address_is_verified_before_the_account_works(db: None, settings: Settings) -> None:
    _set_mode(settings, "email")
    client = Client()
    assert "This field is required" in _sign_up(client, email="")
    assert "Look into your mailbox" in _sign_up(client)
    _log_in(client)
    assert not _is_logged_in(client)
    assert [message.to for message in mail.outbox] == [["robin@example.org"]]
    link = re.search(r"http://testserver(/accounts/confirm-email/\S+)", str(mail.outbox[0].body))
    assert link is not None
    client.get(link[1])
    _log_in(client)
    assert not _is_logged_in(client), "a mail client that opens links must not verify the address"
    client.post(link[1])
    _log_in(client)
    assert _is_logged_in(client)


def test_a_changed_link_verifies_nothing(db: None, settings: Settings) -> None:
    _set_mode(settings, "email")
    client = Client()
    _sign_up(client)
    link = re.search(r"http://testserver(/accounts/confirm-email/\S+)/", str(mail.outbox[0].body))
    assert link is not None
    assert client.post(link[1][:-1] + "_/").status_code == 404
    _log_in(client)
    assert not _is_logged_in(client)


def test_a_link_verifies_no_later_address_that_has_its_number_after_a_restore(db: None, settings: Settings) -> None:
    _set_mode(settings, "email")
    _sign_up(Client())
    link = re.search(r"http://testserver(/accounts/confirm-email/\S+)", str(mail.outbox[0].body))
    assert link is not None
    number = EmailAddress.objects.get().pk
    User.objects.all().delete()  # what a backup from before it restores
    _sign_up(Client(), "martin", "martin@example.org")
    later = EmailAddress.objects.get()
    EmailConfirmation.objects.all().delete()
    EmailAddress.objects.filter(pk=later.pk).update(id=number)
    assert Client().post(link[1]).status_code == 404
    assert not EmailAddress.objects.get().verified


def test_links_that_have_expired_are_forgotten(db: None, settings: Settings) -> None:
    _set_mode(settings, "email")
    client = Client()
    _sign_up(client)
    EmailConfirmation.objects.update(sent=timezone.now() - timedelta(days=4))
    cache.clear()  # one e-mail in three minutes
    _log_in(client)
    assert EmailConfirmation.objects.filter(sent__gt=timezone.now() - timedelta(days=1)).count() == 1
    assert EmailConfirmation.objects.count() == 1


def test_accounts_without_an_address_log_in_where_addresses_are_verified(
    client: Client, db: None, settings: Settings
) -> None:
    """Such as accounts made in the console or the admin."""
    _set_mode(settings, "email")
    User.objects.create_superuser("robin", "robin@example.org", PASSWORD)
    _log_in(client)
    assert _is_logged_in(client)
    assert not mail.outbox


def test_capital_letters_of_an_address_do_not_matter(db: None, settings: Settings) -> None:
    """Those of an account that was made in the console, too."""
    settings.ROOT_URLCONF = __name__
    User.objects.create_superuser("robin", "Robin@example.org", PASSWORD)
    client = Client()
    _log_in(client, "Robin@example.org")
    assert _is_logged_in(client)
    Client().post("/accounts/password/reset/", {"email": "Robin@example.org"})
    assert "/accounts/password/reset/key/" in str(mail.outbox[0].body)
    _sign_up(Client(), "martin")
    assert not User.objects.filter(username="martin").exists()


def test_addresses_from_before_get_lower_case(alice: User) -> None:
    User.objects.update(email="Alice@example.org")
    import_module("accounts.migrations.0005_addresses_in_lower_case").lower(apps, connection.schema_editor())
    alice.refresh_from_db()
    assert alice.email == "alice@example.org"


def test_an_address_serves_for_one_account_where_addresses_are_verified(db: None, settings: Settings) -> None:
    _set_mode(settings, "email")
    client = Client()
    _sign_up(client)
    EmailAddress.objects.update(verified=True)
    _log_in(client)
    remove = {"email": "robin@example.org", "action_remove": ""}
    page = client.post("/accounts/email/", remove, follow=True).content.decode()
    assert "robin@example.org is your primary address." in page
    cache.clear()  # one e-mail in three minutes
    _sign_up(Client(), "martin")
    assert not User.objects.filter(username="martin").exists()
    EmailAddress.objects.update(primary=False)
    EmailAddress.objects.create(user=User.objects.get(), email="new@example.org", verified=True, primary=True)
    client.post("/accounts/email/", remove)
    assert EmailAddress.objects.get().email == "new@example.org"


def test_an_older_address_is_verified_at_the_next_login(db: None, settings: Settings) -> None:
    _sign_up(Client())
    _set_mode(settings, "email")
    client = Client()
    assert "Look into your mailbox" in _log_in(client)
    assert not _is_logged_in(client)
    assert [message.to for message in mail.outbox] == [["robin@example.org"]]


def test_an_organiser_approves(db: None, settings: Settings, as_root: Client, root_user: User) -> None:
    _set_mode(settings, "approval")
    client = Client()
    assert "waiting for approval" in _sign_up(client)
    assert "waiting for approval" in _log_in(client)
    assert not _is_logged_in(client)
    assert [message.to for message in mail.outbox] == [["root@example.org"]]
    waiting = AccountRequest.objects.get()
    _act(as_root, waiting, "approve")
    assert (mail.outbox[1].to, mail.outbox[1].subject[-24:]) == (["robin@example.org"], "Your account is approved")
    assert "http://testserver/accounts/login/" in str(mail.outbox[1].body)
    _log_in(client)
    assert _is_logged_in(client)
    event = Event.objects.get(verb="approve_account")
    assert (event.by, event.reason) == (root_user, "known to us")


def test_an_organiser_declines_and_later_approves(db: None, settings: Settings, as_root: Client) -> None:
    _set_mode(settings, "approval")
    client = Client()
    _sign_up(client)
    _act(as_root, AccountRequest.objects.get(), "decline")
    assert "This account is not active" in _log_in(client)
    with pytest.raises(Refusal, match="is already declined"):
        decline(request=AccountRequest.objects.get(), by=User.objects.get(username="root"))
    _act(as_root, AccountRequest.objects.get(), "approve")
    _log_in(client)
    assert _is_logged_in(client)
    with pytest.raises(Refusal, match="is already approved"):
        approve(request=AccountRequest.objects.get(), by=User.objects.get(username="root"))


def test_a_wrong_password_does_not_reveal_a_waiting_account(db: None, settings: Settings) -> None:
    _set_mode(settings, "approval")
    _sign_up(Client())
    page = Client().post("/accounts/login/", {"login": "robin", "password": "no"}).content.decode()
    assert "not correct" in page
    assert "waiting" not in page


def test_organisers_get_one_e_mail_until_all_requests_are_decided(
    db: None, settings: Settings, root_user: User
) -> None:
    _set_mode(settings, "approval")
    for name in ("robin", "martin", "swift"):
        _sign_up(Client(), name, f"{name}@example.org")
    assert len(mail.outbox) == 1
    for waiting in AccountRequest.objects.all():
        decline(request=waiting, by=root_user)
    _sign_up(Client(), "heron", "heron@example.org")
    assert len(mail.outbox) == 2


class BrokenServer(EmailBackend):
    """Mail server that refuses every connection."""

    def send_messages(self, messages: object) -> int:
        raise ConnectionRefusedError("no mail server")


def test_a_broken_mail_server_stops_neither_sign_up_nor_approval(
    db: None, settings: Settings, as_root: Client, caplog: pytest.LogCaptureFixture
) -> None:
    _set_mode(settings, "approval")
    settings.EMAIL_BACKEND = f"{__name__}.BrokenServer"
    client = Client()
    assert "waiting for approval" in _sign_up(client)
    assert "about a waiting account was not sent" in caplog.text
    page = _act(as_root, AccountRequest.objects.get(), "approve")
    assert "the account is approved, but the e-mail to robin@example.org was not sent" in page
    _log_in(client)
    assert _is_logged_in(client)


@pytest.mark.parametrize("taken", [False, True])
def test_sign_up_shows_an_error_if_the_mail_server_fails(
    db: None, settings: Settings, caplog: pytest.LogCaptureFixture, taken: bool
) -> None:
    """The same for an address that has an account: nobody learns from it which have."""
    _set_mode(settings, "email")
    settings.ACCOUNT_RATE_LIMITS = False
    if taken:
        _sign_up(Client(), "martin")
    settings.EMAIL_BACKEND = f"{__name__}.BrokenServer"
    assert "The confirmation e-mail could not be sent. Try again later." in _sign_up(Client())
    [record] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.exc_info is not None
    assert record.exc_info[0] is ConnectionRefusedError


def test_password_reset_shows_an_error_if_the_mail_server_fails(
    db: None, alice: User, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ROOT_URLCONF = __name__
    settings.EMAIL_BACKEND = f"{__name__}.BrokenServer"
    page = Client().post("/accounts/password/reset/", {"email": "alice@example.org"}, follow=True)
    assert "The e-mail could not be sent. Try again later." in page.content.decode()
    assert "an e-mail that a visitor requested was not sent" in caplog.text


def test_the_link_is_sent_when_the_mail_server_is_back(db: None, settings: Settings) -> None:
    _set_mode(settings, "email")
    working = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = f"{__name__}.BrokenServer"
    client = Client()
    _sign_up(client)
    settings.EMAIL_BACKEND = working
    settings.ACCOUNT_RATE_LIMITS = False
    _log_in(client)
    assert [message.to for message in mail.outbox] == [["robin@example.org"]]


def test_an_organisers_link_creates_one_account(db: None, settings: Settings, as_root: Client) -> None:
    _set_mode(settings, "invitation")
    client = Client()
    assert "Sign-up is by invitation" in client.get("/accounts/signup/").content.decode()
    assert "Sign-up is by invitation" in _sign_up(client)
    page = as_root.post(reverse("admin:accounts_signuplink_add"), {"note": "Robin of Leeds"}, follow=True)
    address = re.search(r"http://testserver(/accounts/signup/[\w.-]+/)", page.content.decode())
    assert address is not None
    assert "You were invited" in client.get(address[1], follow=True).content.decode()
    _sign_up(client)
    assert _is_logged_in(client)
    link = SignUpLink.objects.get()
    assert (link.used_by, link.note) == (User.objects.get(username="robin"), "Robin of Leeds")
    other = Client()
    assert "This link no longer works" in other.get(address[1]).content.decode()
    _sign_up(other, "martin", "")
    assert not User.objects.filter(username="martin").exists()


def test_it_rejects_expired_withdrawn_and_forged_links(
    settings: Settings, root_user: User, the_clock: FakeClock
) -> None:
    _set_mode(settings, "invitation")
    old = make_link(note="late", by=root_user)
    the_clock.forward(days=15)
    withdrawn = make_link(note="gone", by=root_user)
    withdraw_link(link=withdrawn, by=root_user)
    with pytest.raises(Refusal, match="no longer works"):
        withdraw_link(link=withdrawn, by=root_user)
    good = key_of(make_link(note="good", by=root_user))
    client = Client()
    for key in (key_of(old), key_of(withdrawn), good[:-1], f"{good.split('.')[0]}.x", "1", "x"):
        assert "This link no longer works" in client.get(f"/accounts/signup/{key}/", follow=True).content.decode()
        assert "Sign-up is by invitation" in _sign_up(client)
    assert User.objects.count() == 1


def test_a_link_opens_no_later_one_that_has_its_number_after_a_restore(root_user: User) -> None:
    link = make_link(note="Robin", by=root_user)
    old_key, number = key_of(link), link.pk
    link.delete()  # what a backup from before it restores
    SignUpLink.objects.filter(pk=make_link(note="Martin", by=root_user).pk).update(id=number)
    later = SignUpLink.objects.get()
    assert link_of(old_key) is None
    assert link_of(key_of(later)) == later


def test_a_link_of_an_earlier_version_works_until_its_end(root_user: User) -> None:
    link = make_link(note="Robin", by=root_user)
    SignUpLink.objects.update(nonce="")
    assert link_of(Signer(salt="accounts.sign_up_link", sep=".").sign(str(link.pk))) == link


def test_a_link_withdrawn_during_sign_up_creates_no_account(settings: Settings, root_user: User) -> None:
    _set_mode(settings, "invitation")
    link = make_link(note="Robin", by=root_user)
    client = Client()
    client.get(f"/accounts/signup/{key_of(link)}/", follow=True)
    withdraw_link(link=link, by=root_user)
    assert "Sign-up is by invitation" in _sign_up(client)
    assert User.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_concurrent_sign_ups_with_one_link_one_succeeds(settings: Settings) -> None:
    _set_mode(settings, "invitation")
    link = make_link(note="Robin", by=User.objects.create_superuser("root"))
    names = ["robin", "martin", "swift", "heron"]

    def use(name: str) -> None:
        try:
            client = Client()
            client.get(f"/accounts/signup/{key_of(link)}/")
            _sign_up(client, name, "")
        finally:
            connection.close()

    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(use, names))
    assert User.objects.filter(username__in=names).count() == 1
    link.refresh_from_db()
    assert link.used_by is not None


@pytest.mark.parametrize("address", ["/", "/status"])
def test_pages_do_not_link_to_a_closed_sign_up(client: Client, db: None, settings: Settings, address: str) -> None:
    assert 'href="/accounts/signup/"' in client.get(address).content.decode()
    _set_mode(settings, "invitation")
    cache.clear()  # a setting changes at a restart, and pages that were kept before it are shown for up to a minute
    assert 'href="/accounts/signup/"' not in client.get(address).content.decode()


def test_the_sidebar_counts_waiting_accounts(db: None, settings: Settings, as_root: Client) -> None:
    def badges() -> list[str]:
        groups = as_root.get(reverse("admin:index")).context["sidebar_navigation"]
        return [item["badge"] for group in groups for item in group["items"] if "badge" in item]

    assert badges() == []
    _set_mode(settings, "approval")
    assert badges() == []
    _sign_up(Client())
    assert badges() == ["1"]


def test_it_rejects_the_mode_email_without_a_mail_server(settings: Settings) -> None:
    _set_mode(settings, "email")
    assert "accounts.E001" not in {each.id for each in run_checks()}
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert "accounts.E001" in {each.id for each in run_checks()}
    _set_mode(settings, "open")
    assert "accounts.E001" not in {each.id for each in run_checks()}


@pytest.fixture
def as_root(root_user: User) -> Client:
    """A client logged in as the superuser."""
    client = Client()
    client.force_login(root_user)
    return client


def _act(client: Client, row: AccountRequest, action: str) -> str:
    """Run an admin action; return the page that follows."""
    address = reverse(f"admin:accounts_accountrequest_{action}", args=[row.pk])
    response = client.post(address, {"confirmed": "1", "reason": "known to us"}, follow=True)
    assert response.status_code == 200
    return response.content.decode()
