"""The push budget: what pushes cost is charged to their team, and no push begins without its part of the budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from pytest_django import Settings

from accounts.models import Team
from competitions.models import Entry
from core.errors import Fault, Refusal
from repositories import push_budget
from repositories.models import PushCost
from repositories.push_budget import WINDOW, Account, PushBudgetRefusal, charged, forget_old_costs
from repositories.tasks import clean_up
from tests.platform.conftest import NOON

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.repositories.conftest import Arena, Copy

BUDGET = 1_000


MakesPush = Callable[[float], None]


@pytest.fixture
def team(entry: Entry, settings: Settings) -> Team:
    """The Owls, with a budget of 1,000 s."""
    settings.TEAM_PUSH_SECONDS = BUDGET
    return entry.team


@pytest.fixture
def pushed(team: Team, the_clock: FakeClock) -> MakesPush:
    """Make a push of the team that costs so much, and ends at the time of the clock."""

    def make(seconds: float) -> None:
        PushCost.objects.create(team=team, begun_at=the_clock.at, ended_at=the_clock.at, seconds=seconds)

    return make


def may_push(team: Team) -> float:
    """Return what a push may cost now."""
    with charged(team) as account:
        return account.limit


def test_a_push_is_charged_what_its_meter_has(team: Team, the_clock: FakeClock) -> None:
    with charged(team) as account:
        assert PushCost.objects.get().ended_at is None
        account.meter.add(123.5)
        the_clock.forward(minutes=1)
    cost = PushCost.objects.get()
    assert (cost.seconds, cost.ended_at, cost.platform_error) == (123.5, the_clock.at, False)


def test_many_pushes_have_few_rows(team: Team, the_clock: FakeClock) -> None:
    the_clock.forward(seconds=1)
    for _ in range(300):
        with charged(team) as account:
            account.meter.add(2)
        the_clock.forward(seconds=1)
    minutes = list(PushCost.objects.order_by("ended_at").values_list("ended_at", "seconds"))
    first = NOON + timedelta(minutes=1)
    assert minutes == [(first + timedelta(minutes=number), 120) for number in range(5)]


def test_a_rejected_push_is_charged_and_a_platform_error_is_not(team: Team) -> None:
    def push(error: Exception) -> None:
        with charged(team) as account:
            account.meter.add(100)
            raise error

    for error in (Refusal("no"), Fault("ours"), RuntimeError("ours, too")):
        with pytest.raises(type(error)):
            push(error)
    assert sorted(PushCost.objects.values_list("seconds", "platform_error")) == [(100, False), (100, True), (100, True)]
    assert may_push(team) == (BUDGET - 100) / 4


def test_more_than_ten_platform_errors_in_an_hour_are_charged(team: Team) -> None:
    def push() -> None:
        with charged(team) as account:
            account.meter.add(BUDGET)
            account.platform_error = True

    for _ in range(push_budget.FREE_FAULTS):
        push()
    assert may_push(team) == BUDGET / 4
    push()
    with pytest.raises(PushBudgetRefusal):
        may_push(team)


def test_a_used_budget_is_named_with_the_time_of_the_next_push(
    team: Team, pushed: MakesPush, the_clock: FakeClock
) -> None:
    for seconds in (30, 500, 440):
        pushed(seconds)
        the_clock.forward(minutes=10)
    with pytest.raises(PushBudgetRefusal) as refused:
        may_push(team)
    assert "the pushes of The Owls used 970 s" in str(refused.value.problem)
    assert "its push budget is 1,000 s" in str(refused.value.problem)
    # without the first push 60 s are left, and one needs 50 s
    assert refused.value.accepted_from == the_clock.at - timedelta(minutes=30) + WINDOW
    the_clock.at = refused.value.accepted_from
    assert may_push(team) == 50


def test_a_push_in_progress_holds_its_part(team: Team) -> None:
    limits = []

    def push_more() -> None:
        with charged(team) as account:
            limits.append(account.limit)
            push_more()

    with pytest.raises(PushBudgetRefusal, match="other pushes of The Owls are in progress"):
        push_more()
    assert sum(limits) <= BUDGET
    assert len(limits) >= 8
    assert may_push(team) == BUDGET / 4


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("db")
def test_pushes_at_the_same_time_share_the_budget(team: Team) -> None:
    """Each of 24 threads begins a push at the same time; what they may cost together is the budget."""
    begin, end = threading.Barrier(25), threading.Event()

    def push(_: int) -> float:
        begin.wait()
        try:
            with charged(team) as account:
                decided.release()
                end.wait()
                account.meter.add(account.limit)
                return account.limit
        except PushBudgetRefusal:
            decided.release()
            return 0.0
        finally:
            connection.close()

    decided = threading.Semaphore(0)
    with ThreadPoolExecutor(max_workers=24) as pool:
        limits = pool.map(push, range(24))
        begin.wait()
        for _ in range(24):
            decided.acquire()
        end.set()
        found = list(limits)
    assert 0 < sum(found) <= BUDGET
    assert 0.0 in found
    assert sum(PushCost.objects.values_list("seconds", flat=True)) == pytest.approx(sum(found))


def test_a_push_that_never_ended_holds_nothing_after_its_time_limit(
    team: Team, the_clock: FakeClock, settings: Settings
) -> None:
    PushCost.objects.create(team=team, begun_at=the_clock.at, seconds=BUDGET)
    with pytest.raises(PushBudgetRefusal):
        may_push(team)
    the_clock.forward(seconds=settings.MAX_EXCHANGE_SECONDS + 61)
    assert may_push(team) == BUDGET / 4


def test_other_teams_have_budgets_of_their_own(team: Team, pushed: MakesPush) -> None:
    pushed(BUDGET)
    assert may_push(Team.objects.create(slug="larks", name="Larks", created_at=team.created_at)) == BUDGET / 4


def test_old_costs_are_forgotten(team: Team, pushed: MakesPush, the_clock: FakeClock) -> None:
    pushed(1)
    PushCost.objects.create(team=team, begun_at=the_clock.at, seconds=1)
    forget_old_costs()
    assert PushCost.objects.count() == 2
    the_clock.forward(hours=1)
    clean_up()
    assert not PushCost.objects.exists()


def test_a_push_over_its_limit_is_rejected_before_the_gate() -> None:
    Account(limit=10).require(9.9)
    with pytest.raises(Refusal, match=r"took 10 s .* has 10 s for it now"):
        Account(limit=10).require(10)


# the following push with a real client to a real server


def costs(team: Team) -> list[tuple[float, bool]]:
    """Return what requests cost that have ended, and whether they ended with a platform error."""
    return list(PushCost.objects.filter(team=team, ended_at__isnull=False).values_list("seconds", "platform_error"))


@pytest.mark.parametrize(
    ("branch", "accepted", "ours"), [("main", True, False), ("refused", False, False), ("failing", False, True)]
)
def test_a_real_push_is_charged(
    arena: Arena, copy: Copy, token: str, entry: Entry, branch: str, accepted: bool, ours: bool
) -> None:
    status, text = copy.ask("push", arena.url(token), f"main:{branch}")
    assert (status == 0) is accepted, text
    assert arena.settled() == []
    found = costs(entry.team)
    assert all(0.001 < seconds < 30 for seconds, _ in found)
    # the list of refs is charged, and the push unless the site failed
    assert {platform_error for _, platform_error in found} == ({False, True} if ours else {False})


def test_a_client_that_leaves_is_charged(arena: Arena, token: str, entry: Entry) -> None:
    push = arena.start_push(token, 1 << 20)
    push.send(b"0" * 1000)
    _await(lambda: bool(arena.working()))
    push.close()
    _await(lambda: len(costs(entry.team)) == 1)
    assert costs(entry.team)[0][0] > 0


def _await(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60  # a busy host
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_used_budget_is_answered_before_the_client_sends_anything(
    arena: Arena, copy: Copy, token: str, entry: Entry
) -> None:
    copy.git("push", arena.url(token), "main")
    done = PushCost.objects.order_by("-ended_at").first()
    assert done is not None
    PushCost.objects.filter(pk=done.pk).update(seconds=590)
    copy.commit({"main.py": "print('plays better')\n"})
    status, text = copy.ask("push", arena.url(token), "main")
    assert status != 0
    assert (
        "remote:   problem: the pushes of The Owls used 590 s of the web server's processor time within an hour" in text
    )
    assert "remote:   fix: push less often" in text
    assert "remote:   accepted again from 2" in text
    # cloning costs nothing of it
    copy.git("fetch", arena.url(token), "main")


def test_a_push_by_hand_is_rejected_as_well(arena: Arena, token: str, entry: Entry) -> None:
    with charged(entry.team) as account:
        account.meter.add(599)
    push = arena.start_push(token, 4)
    push.send(b"0000")
    answer = push.getresponse()
    assert answer.status == 429
    assert int(answer.headers["Retry-After"]) > 3_000
    assert "push budget is 600 s" in answer.read().decode()
    push.close()
