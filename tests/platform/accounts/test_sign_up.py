"""Who may make an account, in each mode of `GAUNTLET_SIGN_UP`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings as configured
from django.core import mail
from django.core.checks import run_checks
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AccountRequest, SignUpLink, User
from accounts.sign_up import approve, decline, key_of, make_link, withdraw_link
from core.errors import Refusal
from core.models import Event

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock

PASSWORD = "correct horse battery"  # noqa: S105 - of nobody
SHOW = "from django.conf import settings as s; "
SHOW += "print(s.SIGN_UP, s.ACCOUNT_EMAIL_VERIFICATION, s.ACCOUNT_SIGNUP_FIELDS[1])"


def _set(settings: Settings, mode: str) -> None:
    """What the settings say in this mode; `test_the_environment_chooses_the_mode` holds that they do."""
    settings.SIGN_UP = mode
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory" if mode == "email" else "none"
    email = "email*" if mode in {"email", "approval"} else "email"
    settings.ACCOUNT_SIGNUP_FIELDS = ["username*", email, "password1*", "password2*"]


def _sign_up(client: Client, name: str = "robin", email: str = "robin@example.org") -> str:
    """The page at which a sign-up ends."""
    form = {"username": name, "email": email, "password1": PASSWORD, "password2": PASSWORD}
    return client.post("/accounts/signup/", form, follow=True).content.decode()


def _log_in(client: Client, name: str = "robin") -> str:
    return client.post("/accounts/login/", {"login": name, "password": PASSWORD}, follow=True).content.decode()


def _is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.parametrize(
    ("mode", "means"),
    [
        ("", "open none email"),
        ("email", "email mandatory email*"),
        ("approval", "approval none email*"),
        ("invitation", "invitation none email"),
    ],
)
def test_the_environment_chooses_the_mode(tmp_path: Path, mode: str, means: str) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "GAUNTLET_STATE": str(tmp_path),
        "GAUNTLET_SIGN_UP": mode,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{configured.ROOT / 'platform'}",
    }
    done = subprocess.run([sys.executable, "-c", SHOW], env=env, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == means


def test_anybody_signs_up_where_it_is_open(db: None) -> None:
    client = Client()
    _sign_up(client, email="")
    assert _is_in(client)


def test_an_address_is_verified_before_the_account_works(db: None, settings: Settings) -> None:
    _set(settings, "email")
    client = Client()
    assert "This field is required" in _sign_up(client, email="")
    assert "We have sent an email to you" in _sign_up(client)
    _log_in(client)
    assert not _is_in(client)
    assert [message.to for message in mail.outbox] == [["robin@example.org"]]
    link = re.search(r"http://testserver(/accounts/confirm-email/\S+)", str(mail.outbox[0].body))
    assert link is not None
    client.get(link[1])
    _log_in(client)
    assert not _is_in(client), "a mail program that follows links verifies nothing"
    client.post(link[1])
    _log_in(client)
    assert _is_in(client)


def test_a_changed_link_verifies_nothing(db: None, settings: Settings) -> None:
    _set(settings, "email")
    client = Client()
    _sign_up(client)
    link = re.search(r"http://testserver(/accounts/confirm-email/\S+)/", str(mail.outbox[0].body))
    assert link is not None
    assert client.post(link[1][:-1] + "_/").status_code == 404
    _log_in(client)
    assert not _is_in(client)


def test_accounts_without_an_address_log_in_where_addresses_are_verified(
    client: Client, db: None, settings: Settings
) -> None:
    """Those that the console or the admin made."""
    _set(settings, "email")
    User.objects.create_superuser("robin", "robin@example.org", PASSWORD)
    _log_in(client)
    assert _is_in(client)
    assert not mail.outbox


def test_an_address_from_before_is_verified_at_the_next_log_in(db: None, settings: Settings) -> None:
    _sign_up(Client())
    _set(settings, "email")
    client = Client()
    assert "We have sent an email to you" in _log_in(client)
    assert not _is_in(client)
    assert [message.to for message in mail.outbox] == [["robin@example.org"]]


def test_an_organiser_approves(db: None, settings: Settings, as_root: Client, root_user: User) -> None:
    _set(settings, "approval")
    client = Client()
    assert "waiting for approval" in _sign_up(client)
    assert "waiting for approval" in _log_in(client)
    assert not _is_in(client)
    assert [message.to for message in mail.outbox] == [["root@example.org"]]
    asked = AccountRequest.objects.get()
    _act(as_root, asked, "approve")
    assert (mail.outbox[1].to, mail.outbox[1].subject[-24:]) == (["robin@example.org"], "Your account is approved")
    assert "http://testserver/accounts/login/" in str(mail.outbox[1].body)
    _log_in(client)
    assert _is_in(client)
    event = Event.objects.get(verb="approve_account")
    assert (event.by, event.reason) == (root_user, "known to us")


def test_an_organiser_declines_and_may_think_again(db: None, settings: Settings, as_root: Client) -> None:
    _set(settings, "approval")
    client = Client()
    _sign_up(client)
    _act(as_root, AccountRequest.objects.get(), "decline")
    assert "This account is not active" in _log_in(client)
    with pytest.raises(Refusal, match="is declined already"):
        decline(request=AccountRequest.objects.get(), by=User.objects.get(username="root"))
    _act(as_root, AccountRequest.objects.get(), "approve")
    _log_in(client)
    assert _is_in(client)
    with pytest.raises(Refusal, match="is approved already"):
        approve(request=AccountRequest.objects.get(), by=User.objects.get(username="root"))


def test_who_gives_a_wrong_password_learns_nothing_of_an_account_that_waits(db: None, settings: Settings) -> None:
    _set(settings, "approval")
    _sign_up(Client())
    answer = Client().post("/accounts/login/", {"login": "robin", "password": "no"}).content.decode()
    assert "not correct" in answer
    assert "waiting" not in answer


def test_organisers_get_one_e_mail_until_they_have_decided(db: None, settings: Settings, root_user: User) -> None:
    _set(settings, "approval")
    for name in ("robin", "martin", "swift"):
        _sign_up(Client(), name, f"{name}@example.org")
    assert len(mail.outbox) == 1
    for asked in AccountRequest.objects.all():
        decline(request=asked, by=root_user)
    _sign_up(Client(), "heron", "heron@example.org")
    assert len(mail.outbox) == 2


class BrokenServer(EmailBackend):
    """Answers nobody."""

    def send_messages(self, messages: object) -> int:
        raise ConnectionRefusedError("no mail server")


def test_a_broken_mail_server_stops_neither_sign_up_nor_approval(
    db: None, settings: Settings, as_root: Client, caplog: pytest.LogCaptureFixture
) -> None:
    _set(settings, "approval")
    settings.EMAIL_BACKEND = f"{__name__}.BrokenServer"
    client = Client()
    assert "waiting for approval" in _sign_up(client)
    assert "was not told" in caplog.text
    page = _act(as_root, AccountRequest.objects.get(), "approve")
    assert "the account is approved, but the e-mail to robin@example.org was not sent" in page
    _log_in(client)
    assert _is_in(client)


def test_a_link_of_an_organiser_makes_one_account(db: None, settings: Settings, as_root: Client) -> None:
    _set(settings, "invitation")
    client = Client()
    assert "Sign-up is by invitation only" in client.get("/accounts/signup/").content.decode()
    assert "Sign-up is by invitation only" in _sign_up(client)
    page = as_root.post(reverse("admin:accounts_signuplink_add"), {"note": "Robin of Leeds"}, follow=True)
    address = re.search(r"http://testserver(/accounts/signup/[\w.-]+/)", page.content.decode())
    assert address is not None
    assert "You were invited" in client.get(address[1], follow=True).content.decode()
    _sign_up(client)
    assert _is_in(client)
    link = SignUpLink.objects.get()
    assert (link.used_by, link.note) == (User.objects.get(username="robin"), "Robin of Leeds")
    other = Client()
    assert "This link no longer works" in other.get(address[1]).content.decode()
    _sign_up(other, "martin", "")
    assert not User.objects.filter(username="martin").exists()


def test_it_rejects_links_that_expired_or_were_withdrawn_or_made_up(
    settings: Settings, root_user: User, the_clock: FakeClock
) -> None:
    _set(settings, "invitation")
    old = make_link(note="late", by=root_user)
    the_clock.forward(days=15)
    withdrawn = make_link(note="gone", by=root_user)
    withdraw_link(link=withdrawn, by=root_user)
    with pytest.raises(Refusal, match="no longer works"):
        withdraw_link(link=withdrawn, by=root_user)
    good = key_of(make_link(note="good", by=root_user))
    client = Client()
    for key in (key_of(old), key_of(withdrawn), good[:-1], f"{int(good.split('.')[0])}.x", "1", "x"):
        assert "This link no longer works" in client.get(f"/accounts/signup/{key}/", follow=True).content.decode()
        assert "Sign-up is by invitation only" in _sign_up(client)
    assert User.objects.count() == 1


def test_a_link_that_is_withdrawn_while_somebody_signs_up_makes_no_account(settings: Settings, root_user: User) -> None:
    _set(settings, "invitation")
    link = make_link(note="Robin", by=root_user)
    client = Client()
    client.get(f"/accounts/signup/{key_of(link)}/", follow=True)
    withdraw_link(link=link, by=root_user)
    assert "Sign-up is by invitation only" in _sign_up(client)
    assert User.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_sign_ups_with_one_link_one_is_made(settings: Settings) -> None:
    _set(settings, "invitation")
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
def test_pages_lead_to_no_sign_up_that_is_closed(client: Client, db: None, settings: Settings, address: str) -> None:
    assert 'href="/accounts/signup/"' in client.get(address).content.decode()
    _set(settings, "invitation")
    assert 'href="/accounts/signup/"' not in client.get(address).content.decode()


def test_the_sidebar_counts_the_accounts_that_wait(db: None, settings: Settings, as_root: Client) -> None:
    _set(settings, "approval")
    _sign_up(Client())
    groups = as_root.get(reverse("admin:index")).context["sidebar_navigation"]
    badges = [item["badge_callback"] for group in groups for item in group["items"] if "badge_callback" in item]
    assert [str(badge) for badge in badges] == ["1"]


def test_it_rejects_the_mode_e_mail_where_none_is_sent(settings: Settings) -> None:
    _set(settings, "email")
    assert "accounts.E001" not in {each.id for each in run_checks()}
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert "accounts.E001" in {each.id for each in run_checks()}
    _set(settings, "open")
    assert "accounts.E001" not in {each.id for each in run_checks()}


@pytest.fixture
def as_root(root_user: User) -> Client:
    """A browser in which the superuser is logged in."""
    client = Client()
    client.force_login(root_user)
    return client


def _act(client: Client, asked: AccountRequest, act: str) -> str:
    """What the admin says after the act."""
    address = reverse(f"admin:accounts_accountrequest_{act}", args=[asked.pk])
    answer = client.post(address, {"confirmed": "1", "reason": "known to us"}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()
