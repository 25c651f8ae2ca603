"""When work is tried again after faults, and when it is given up: rules without a database."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from workers.fault_record import MAX_FAULTS, PAUSES, FaultRecord

HOST = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(st.tuples(HOST, st.booleans()), max_size=30)


def after(*hosts: str, record: FaultRecord | None = None) -> FaultRecord:
    record = record or FaultRecord()
    for host in hosts:
        record = record.after_fault(host)
    return record


def test_three_faults_on_two_hosts_give_work_up() -> None:
    assert after("a", "a", "b").is_given_up
    assert after("a", "b", "a").is_given_up
    assert not after("a", "b").is_given_up


def test_one_host_alone_never_decides() -> None:
    record = after(*["a"] * 100)
    assert not record.is_given_up
    assert after("b", record=record).is_given_up


def test_failures_of_hosts_never_count() -> None:
    record = FaultRecord()
    for _ in range(100):
        record = record.after_host_fault()
    assert not record.is_given_up
    assert (after("a", record=record).is_given_up, after("a", "b", record=record).is_given_up) == (False, False)


def test_pauses_grow_up_to_the_last_one() -> None:
    record, pauses = FaultRecord(), []
    for _ in range(6):
        record = record.after_fault("a")
        pauses.append(record.pause(first=True))
    assert pauses == [*PAUSES, PAUSES[-1], PAUSES[-1]]
    assert list(PAUSES) == sorted(PAUSES)


def test_another_host_may_try_at_once_after_the_first_failure_of_a_host() -> None:
    first = FaultRecord().after_host_fault()
    assert first.pause(first=False) == timedelta(0)
    assert first.after_host_fault().pause(first=False) == PAUSES[0]


@given(STEPS)
def test_the_order_of_faults_does_not_matter(steps: list[tuple[str, bool]]) -> None:
    def played(order: list[tuple[str, bool]]) -> FaultRecord:
        record = FaultRecord()
        for host, counts in order:
            record = record.after_fault(host) if counts else record.after_host_fault()
        return record

    record = played(steps)
    counted = [host for host, counts in steps if counts]
    assert record == played(steps[::-1])
    assert record.is_given_up == (len(counted) >= MAX_FAULTS and len(set(counted)) >= 2)
