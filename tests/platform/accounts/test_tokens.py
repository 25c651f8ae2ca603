"""Access tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from accounts.services import MAX_TOKENS, issue_token, revoke_token, use_token
from core.errors import Refusal
from core.models import Event

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock


def test_a_token_is_valid_in_its_scopes_and_its_text_is_in_no_event(alice: User, the_clock: object) -> None:
    token, plain = issue_token(user=alice, name="laptop", scopes=["submit", "read"], days=30)
    assert plain.startswith("gtl_")
    assert len(plain) == 47
    assert token.start == plain[:8]
    assert use_token(plain, "submit") == token
    token.refresh_from_db()
    assert token.last_used_at is not None
    assert not any(plain in str(event.data) for event in Event.objects.all())


def test_it_rejects_a_token_that_is_not_valid(alice: User, charlie: User) -> None:
    token, plain = issue_token(user=alice, name="laptop", scopes=["read"], days=1)
    assert use_token(plain, "submit") is None
    assert use_token("gtl_\udcff", "read") is None
    with pytest.raises(Refusal):
        revoke_token(token=token, by=charlie)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert use_token(plain, "read") is None
    User.objects.filter(pk=alice.pk).update(is_active=True)
    revoke_token(token=token, by=alice)
    assert use_token(plain, "read") is None


def test_it_rejects_an_expired_token(alice: User, the_clock: FakeClock) -> None:
    token, plain = issue_token(user=alice, name="laptop", scopes=["read"], days=1)
    the_clock.forward(days=1, seconds=-1)
    assert use_token(plain, "read") == token
    assert token.expires_at == the_clock.forward(seconds=1)
    assert use_token(plain, "read") is None
    the_clock.forward(days=1)
    assert use_token(plain, "read") is None


def test_a_use_is_recorded_at_most_once_a_minute(alice: User, the_clock: FakeClock) -> None:
    token, plain = issue_token(user=alice, name="laptop", scopes=["read"], days=1)
    first = the_clock.at
    recorded = []
    for seconds in (0, 1, 58.9, 0.1, 59):
        the_clock.forward(seconds=seconds)
        assert use_token(plain, "read") == token
        token.refresh_from_db()
        recorded.append(token.last_used_at)
    minute_later = first + timedelta(minutes=1)
    assert recorded == [first, first, first, minute_later, minute_later]


@pytest.mark.parametrize(
    ("name", "scopes", "days"),
    [("", ["read"], 1), ("x", [], 1), ("x", ["all"], 1), ("x", ["read"], 0), ("x", ["read"], 367)],
)
def test_it_rejects_invalid_values(alice: User, name: str, scopes: list[str], days: int) -> None:
    with pytest.raises(Refusal):
        issue_token(user=alice, name=name, scopes=scopes, days=days)


def test_it_rejects_one_token_too_many(alice: User) -> None:
    for number in range(MAX_TOKENS):
        issue_token(user=alice, name=str(number), scopes=["read"], days=1)
    with pytest.raises(Refusal, match="valid tokens"):
        issue_token(user=alice, name="more", scopes=["read"], days=1)
