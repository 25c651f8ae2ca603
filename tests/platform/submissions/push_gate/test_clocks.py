"""Hosts whose clocks are wrong: nobody gains time or a slot."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from competitions.models import Competition, FreezeWindow
from core import clock
from core.errors import RefusedForNow
from submissions import build_queue
from submissions.models import QuotaSlot, Submission
from submissions.quota_ledger import settle_reservations
from workers import queue

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.submissions.push_gate.conftest import Copy

MINUTE = timedelta(minutes=1)
MOMENT = timedelta(microseconds=1)

Send = Callable[..., str]


@pytest.fixture(params=[MINUTE * 2, -MINUTE * 2], ids=["fast", "slow"])
def _wrong(request: pytest.FixtureRequest, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run everything on a host whose clock is wrong."""
    monkeypatch.setattr(clock, "now", lambda: the_clock.at + request.param)


@pytest.mark.usefixtures("_wrong")
def test_a_freeze_begins_and_ends_on_all_web_hosts_together(
    send: Send, competition: Competition, the_clock: FakeClock
) -> None:
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=the_clock.at + MINUTE, ends_at=the_clock.at + 2 * MINUTE, reason="a round"
    )
    the_clock.at = window.starts_at - MOMENT
    send("submission-1")
    the_clock.at = window.starts_at
    with pytest.raises(RefusedForNow, match="a round"):
        send("submission-2")
    the_clock.at = window.ends_at
    send("submission-2")


@pytest.mark.parametrize("off", [MINUTE * 2, -MINUTE * 2], ids=["fast", "slow"])
def test_a_sweep_on_a_host_with_a_wrong_clock_takes_no_slot_from_a_push(
    copy: Copy, alice: User, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch, off: timedelta
) -> None:
    copy.ask(alice, copy.commit(), "submission-1")
    monkeypatch.setattr(clock, "now", lambda: the_clock.at + off)
    the_clock.forward(seconds=59)
    assert settle_reservations() == 0
    the_clock.forward(seconds=1)
    assert settle_reservations() == 1


@pytest.mark.usefixtures("_wrong")
def test_a_slot_is_free_after_24_hours(send: Send, take_slots: Callable[[int], None], the_clock: FakeClock) -> None:
    take_slots(5)
    first = QuotaSlot.objects.earliest("reserved_at").reserved_at
    the_clock.at = first + timedelta(hours=24) - MOMENT
    with pytest.raises(RefusedForNow):
        send("submission-6")
    the_clock.at = first + timedelta(hours=24)
    send("submission-6")


def test_a_builder_with_a_fast_clock_fails_no_build(
    send: Send, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    send("submission-1")
    submission = Submission.objects.get()
    build = build_queue.claim(submission.pk, "here")
    assert build is not None
    monkeypatch.setattr(clock, "now", lambda: the_clock.at + timedelta(days=2))
    for _ in range(3):
        the_clock.forward(seconds=50)
        assert queue.expire() == 0
        build_queue.sweep()
        assert build.renew()
    submission.refresh_from_db()
    assert (submission.state, submission.builds.get().outcome) == ("building", "")
    build_queue.refuse(build, "build_failed", "a test", "none")
    submission.refresh_from_db()
    assert submission.state_since == the_clock.at
