"""A host whose results differ is drained, until an operator puts it back into service."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from itertools import cycle

import pytest
from pytest_django import Settings

from accounts.models import User
from competitions.models import Entry
from core import clock
from core.errors import Refusal
from core.models import Event
from repositories.models import Repository
from tests.platform.conftest import FakeClock
from workers import host_comparisons, host_health
from workers.models import Host, HostComparison

pytestmark = pytest.mark.django_db

PAIRS = [("a", "b"), ("c", "bad"), ("b", "c"), ("bad", "a"), ("a", "c"), ("b", "bad")]


def compared(pair: tuple[str, str], *, unequal: int, entry: Entry | None = None) -> HostComparison:
    first, second = pair
    return HostComparison(
        at=clock.database_now(), subject="match 1", player="sha256:1", entry=entry,
        played_on=first, repeated_on=second, compared=128, unequal=unequal,
    )  # fmt: skip


def compare(times: int, *, noisy: str = "bad") -> Iterator[Host]:
    """Record comparisons of four hosts by turns, in which those of `noisy` differ; yield a drained host."""
    for _, pair in zip(range(times), cycle(PAIRS)):
        host_comparisons.record([compared(pair, unequal=6 * (noisy in pair))])
        yield from [host for host in Host.objects.all() if host.is_drained]


@pytest.fixture
def drained(db: None) -> Host:
    """The host that was drained first."""
    return next(compare(30))


def test_a_host_that_differs_is_drained_and_reported_once(drained: Host, caplog: pytest.LogCaptureFixture) -> None:
    assert (drained.name, drained.differs) == ("bad", True)
    assert "its labels or distances differ from those of other hosts beyond chance (p < 0.001)" in drained.problem
    host_comparisons.record([compared(pair, unequal=6) for pair in PAIRS if "bad" in pair])
    event = Event.objects.get()
    assert (event.verb, event.subject) == ("drain_host", f"host:{drained.pk}")
    assert 0 < event.data["p"] < 0.001
    lines = [*caplog.get_records("setup"), *caplog.records]
    errors = [line.getMessage() for line in lines if line.levelno == logging.ERROR]
    assert len(errors) == 1
    assert errors[0].startswith("bad is drained: its labels or distances differ")


def test_a_drained_host_takes_no_work_whatever_its_checks_say(drained: Host, settings: Settings) -> None:
    settings.WORKER_NAME = "bad"
    assert not host_health.may_claim()
    assert not host_health.in_service()
    assert not host_health.wait_for_service(0.0)
    settings.WORKER_NAME = "a"
    assert host_health.may_claim()


def test_a_slot_waits_for_no_check_that_is_not_due_soon(
    drained: Host, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that wake it would pile up: each sweep sends one for each slot that plays nothing."""
    settings.WORKER_NAME = "bad"
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        Host.objects.update(out_since=None, check_due_at=None)

    monkeypatch.setattr("workers.host_health.time.sleep", wait)
    assert not host_health.wait_for_service(60.0)
    Host.objects.update(check_due_at=clock.now() + timedelta(minutes=2))
    assert not host_health.wait_for_service(60.0)
    assert waited == []
    Host.objects.update(check_due_at=clock.now() + timedelta(seconds=30))
    assert host_health.wait_for_service(60.0)
    assert waited == [1.0]


def test_a_host_that_failed_a_check_is_drained_too(db: None) -> None:
    Host.objects.create(name="bad", out_since=clock.now(), check_due_at=clock.now(), problem="no engine")
    assert next(compare(30)).name == "bad"


def test_a_host_that_recovers_is_put_back_by_an_operator_and_judged_again(drained: Host, alice: User) -> None:
    host_comparisons.return_to_service(drained, alice, "new memory")
    drained.refresh_from_db()
    assert (drained.is_drained, drained.check_due_at is not None) == (False, True)
    assert drained.doubtful_until is not None  # what it played before stays to be rejudged
    assert list(compare(30, noisy="nobody")) == []
    assert next(compare(30)).name == "bad"  # it did not recover
    assert Event.objects.filter(verb="drain_host").count() == 2
    assert Event.objects.get(verb="return_host").reason == "new memory"


@pytest.mark.parametrize("off", [pytest.param(300, id="fast"), pytest.param(-300, id="slow")])
def test_a_wrong_clock_of_the_web_host_changes_nothing_of_a_return(
    drained: Host, alice: User, settings: Settings, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch, off: int
) -> None:
    HostComparison.objects.update(at=the_clock.at)
    the_clock.forward(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: the_clock.at + timedelta(seconds=off))
    host_comparisons.return_to_service(drained, alice, "new memory")
    monkeypatch.setattr(clock, "now", lambda: the_clock.at)  # that of the worker
    settings.WORKER_NAME = "bad"
    assert host_health.in_service(), "its check is due at once"
    host_comparisons.record([compared(("a", "bad"), unequal=6)])
    drained.refresh_from_db()
    assert not drained.is_drained, "what it differed in before does not count"


def test_it_rejects_a_host_that_is_not_drained(alice: User) -> None:
    host = Host.objects.create(name="a", out_since=clock.now(), check_due_at=clock.now())
    with pytest.raises(Refusal, match="a is not drained"):
        host_comparisons.return_to_service(host, alice, "why not")


def test_two_hosts_that_cannot_be_told_apart_are_reported_and_stay(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(4):
        host_comparisons.record([compared(("a", "b"), unequal=10)])
    assert not Host.objects.exists()
    assert "a and b give different results" in caplog.messages[-1]
    assert "let a third host play" in caplog.messages[-1]


def test_a_host_is_not_compared_with_itself(repositories: dict[str, Repository]) -> None:
    entry = repositories["model"].entry
    host_comparisons.record([compared(("a", "a"), unequal=10), compared(("a", "b"), unequal=1, entry=entry)])
    assert [str(row) for row in HostComparison.objects.all()] == ["match 1: a and b"]
