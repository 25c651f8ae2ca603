"""Whether a killed player met its own limit of memory, or the end of the host's."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.sandbox.out_of_memory_cause import HostMemory

LIMIT = 4 << 30


def write_counters(proc: Path, *, kills: int, free_mib: int) -> None:
    (proc / "vmstat").write_text(f"nr_free_pages 5\noom_kill {kills}\n")
    (proc / "meminfo").write_text(f"MemTotal: 8000000 kB\nMemAvailable: {free_mib << 10} kB\n")


@pytest.mark.parametrize(
    ("kills", "free_mib", "expected"),
    [
        pytest.param(3, 1000, True, id="killed at a gigabyte, and no more was left"),
        pytest.param(3, 5000, False, id="killed at its limit, which is free again"),
        pytest.param(2, 1000, False, id="little is left, but nobody was killed for it: it killed itself"),
    ],
)
def test_a_kill_is_a_shortage_of_the_host_only_if_little_memory_was_left(
    tmp_path: Path, kills: int, free_mib: int, expected: bool
) -> None:
    write_counters(tmp_path, kills=2, free_mib=3000)
    memory = HostMemory(LIMIT, tmp_path)
    write_counters(tmp_path, kills=kills, free_mib=free_mib)
    assert ("1000 MiB are free, and it may use 4096 MiB" in memory.shortage()) is expected


def test_a_kill_is_of_the_time_since_the_last_look(tmp_path: Path) -> None:
    write_counters(tmp_path, kills=2, free_mib=5000)
    memory = HostMemory(LIMIT, tmp_path)
    assert not memory.kernel_has_killed()
    write_counters(tmp_path, kills=3, free_mib=5000)
    assert memory.kernel_has_killed()
    memory.look()
    assert not memory.kernel_has_killed()


def test_a_system_without_these_counters_reports_no_shortage_and_no_kill(tmp_path: Path) -> None:
    assert HostMemory(LIMIT, tmp_path).shortage() == ""
    assert not HostMemory(LIMIT, tmp_path).kernel_has_killed()


def test_this_host_has_them() -> None:
    assert HostMemory(1 << 60).shortage() == ""
    assert all(
        HostMemory(1)._read(*counter) is not None for counter in (("vmstat", "oom_kill"), ("meminfo", "MemAvailable:"))
    )
