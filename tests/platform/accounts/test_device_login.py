"""Sign-in of a program by a code that a person confirms."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from accounts.device_login import (
    INTERVAL,
    LIFETIME,
    SLOWER,
    DeviceCodes,
    DeviceRefusal,
    begin,
    decide,
    token_of,
    waiting_login,
)
from accounts.models import DeviceLogin, User
from accounts.services import MAX_TOKENS, issue_token, use_token
from core.errors import Refusal
from core.models import Event
from tests.platform.conftest import FakeClock


@pytest.fixture
def codes(db: None, the_clock: FakeClock) -> DeviceCodes:
    """The codes of a program that waits."""
    return begin(client="gauntlet on host7", address="192.0.2.1")


def code_of_refusal(device: str) -> str:
    with pytest.raises(DeviceRefusal) as refused:
        token_of(device)
    return refused.value.code


def test_a_confirmed_code_gives_one_ordinary_token(codes: DeviceCodes, alice: User, the_clock: FakeClock) -> None:
    assert re.fullmatch(r"[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", codes.user)
    stored = str(DeviceLogin.objects.values().get())
    assert not any(each in stored for each in (codes.device, codes.user, codes.user.replace("-", "")))
    typed = codes.user.lower().replace("-", " ")
    decide(login=waiting_login(typed), allowed=True, by=alice)
    token, plain = token_of(codes.device)
    assert (token.user, token.name, token.scopes) == (alice, "gauntlet on host7", ["read", "submit"])
    assert use_token(plain, "submit") == token
    assert code_of_refusal(codes.device) == "expired-token", "it gives no second one"
    assert list(Event.objects.values_list("verb", "data__client")) == [
        ("issue", None), ("allow_device", "gauntlet on host7"),
    ]  # fmt: skip


def test_a_program_that_asks_too_fast_is_slowed_down(codes: DeviceCodes, the_clock: FakeClock) -> None:
    found = []
    for seconds in (0, INTERVAL, 1, INTERVAL, INTERVAL + 2 * SLOWER):
        the_clock.forward(seconds=seconds)
        found.append(code_of_refusal(codes.device))
    pending, slow = "authorization-pending", "slow-down"
    assert found == [pending, pending, slow, slow, pending]


@pytest.mark.parametrize("allowed", [True, False])
def test_only_the_first_answer_counts(codes: DeviceCodes, alice: User, bob: User, allowed: bool) -> None:
    of_alice, of_bob = waiting_login(codes.user), waiting_login(codes.user)
    decide(login=of_alice, allowed=allowed, by=alice)
    with pytest.raises(Refusal, match="was used meanwhile"):
        decide(login=of_bob, allowed=not allowed, by=bob)
    with pytest.raises(Refusal, match="was used already"):
        waiting_login(codes.user)
    if allowed:
        assert token_of(codes.device)[0].user == alice
    else:
        assert code_of_refusal(codes.device) == "access-denied"
    assert not bob.tokens.exists()


def test_a_person_who_was_removed_signs_nothing_in(codes: DeviceCodes, alice: User) -> None:
    decide(login=waiting_login(codes.user), allowed=True, by=alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert code_of_refusal(codes.device) == "access-denied"
    assert not alice.tokens.exists()


def test_codes_expire_and_are_deleted(codes: DeviceCodes, alice: User, the_clock: FakeClock) -> None:
    login = waiting_login(codes.user)
    the_clock.forward(seconds=LIFETIME.total_seconds())
    with pytest.raises(Refusal, match="has expired"):
        decide(login=login, allowed=True, by=alice)
    with pytest.raises(Refusal, match="no program waits"):
        waiting_login(codes.user)
    assert code_of_refusal(codes.device) == code_of_refusal("guessed") == "expired-token"
    begin(client="gauntlet", address="192.0.2.1")
    assert DeviceLogin.objects.get().expires_at == the_clock.at + timedelta(minutes=10)


def test_a_person_with_too_many_tokens_cannot_confirm(codes: DeviceCodes, alice: User) -> None:
    login = waiting_login(codes.user)
    for number in range(MAX_TOKENS - 1):
        issue_token(user=alice, name=str(number), scopes=["read"], days=1)
    decide(login=login, allowed=True, by=alice)
    last, _ = issue_token(user=alice, name="last", scopes=["read"], days=1)
    assert code_of_refusal(codes.device) == "access-denied"
    with pytest.raises(Refusal, match="valid tokens"):
        decide(login=waiting_login(begin(client="x", address="").user), allowed=True, by=alice)
    last.delete()
    assert token_of(codes.device)[0].user == alice, "it was not used up"


@pytest.mark.parametrize("name", ["", " ", "x" * 61, "two\nlines"])
def test_it_rejects_a_name_that_no_token_can_have(db: None, name: str) -> None:
    with pytest.raises(Refusal, match="name of the program"):
        begin(client=name, address="192.0.2.1")
