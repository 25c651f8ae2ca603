"""The page on which a person lets a program on another device sign in."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from accounts.device_login import DeviceCodes, begin
from accounts.models import AccessToken, DeviceLogin, User


@pytest.fixture
def codes(db: None) -> DeviceCodes:
    """The codes of a program that waits."""
    cache.clear()
    return begin(client="<b>gauntlet</b> on host7", address="192.0.2.1")


def test_a_person_sees_what_they_would_allow_and_confirms_it(client: Client, codes: DeviceCodes, alice: User) -> None:
    client.force_login(alice)
    assert 'name="code"' in client.get("/device").content.decode()
    shown = client.post("/device", {"code": codes.user}).content.decode()
    for text in ("&lt;b&gt;gauntlet&lt;/b&gt; on host7", "192.0.2.1", "submit: push, submit, withdraw", "90 days"):
        assert text in shown
    assert DeviceLogin.objects.get().state == "waiting", "a look changes nothing"
    done = client.post("/device", {"code": codes.user, "decision": "allow"}, follow=True)
    assert "is signed in. Go back to the device." in done.content.decode()
    assert (DeviceLogin.objects.get().decided_by, AccessToken.objects.count()) == (alice, 0)
    assert "This code was used already." in client.post("/device", {"code": codes.user}).content.decode()


def test_a_person_refuses(client: Client, codes: DeviceCodes, alice: User) -> None:
    client.force_login(alice)
    refused = client.post("/device", {"code": codes.user, "decision": "refuse"}, follow=True)
    assert "is not signed in." in refused.content.decode()
    assert DeviceLogin.objects.get().state == "refused"


def test_right_codes_of_many_people_at_one_address_are_not_counted(
    client: Client, codes: DeviceCodes, alice: User, bob: User, settings: Settings
) -> None:
    """Such as those of a class."""
    settings.ACCOUNT_RATE_LIMITS = {"device_code": "1/10m/ip"}
    for person, code in ((alice, codes.user), (bob, begin(client="laptop", address="192.0.2.1").user)):
        client.force_login(person)
        client.post("/device", {"code": code})
        done = client.post("/device", {"code": code, "decision": "allow"}, follow=True).content.decode()
        assert "is signed in. Go back to the device." in done


def test_codes_are_not_guessed(client: Client, codes: DeviceCodes, alice: User, bob: User) -> None:
    client.force_login(alice)
    wrong = [
        client.post("/device", {"code": f"BBBB-BBB{letter}"}).content.decode() for letter in "BCDFGHJKLMNPQRSTVWXZ"
    ]
    assert all("No program waits with this code." in each for each in wrong)
    right = client.post("/device", {"code": codes.user, "decision": "allow"}).content.decode()
    assert "Too many codes were tried. Wait ten minutes." in right
    client.force_login(bob)
    assert "host7" in client.post("/device", {"code": codes.user}).content.decode(), "others have their own limit"
    assert DeviceLogin.objects.get().state == "waiting"
