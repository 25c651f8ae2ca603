"""The passes of the tests leave none out, and slow tests begin first."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.order import spread
from tests.slots import Slot

MARKS = ("docker", "journey", "database", "both", "slow")


@pytest.fixture(scope="module")
def passes(root: Path) -> dict[str, str]:
    """The expressions of marks that the Makefile runs, by name."""
    makefile = (root / "Makefile").read_text()
    return {name.lower(): marks for name, marks in re.findall(r"^(\w+)_PASS := (.*)$", makefile, re.MULTILINE)}


def chosen(expression: str, marks: frozenset[str]) -> bool:
    """Whether pytest runs a test with these marks."""

    def has(name: str, /, **_: object) -> bool:
        return name in marks

    return Expression.compile(expression).evaluate(has)


def test_every_test_is_in_a_pass_whatever_its_marks(passes: dict[str, str]) -> None:
    assert list(passes) == ["sqlite", "short", "production"]
    for size in range(len(MARKS) + 1):
        for marks in map(frozenset, itertools.combinations(MARKS, size)):
            in_sqlite, in_short, in_production = (chosen(each, marks) for each in passes.values())
            assert in_short or in_production, f"nothing runs a test with the marks {set(marks)} in CI"
            assert in_sqlite >= in_short


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        (set(), "sqlite short"),
        ({"database"}, "sqlite production"),
        ({"database", "both"}, "sqlite short production"),
        ({"journey"}, "production"),
        ({"journey", "docker"}, "sqlite production"),
        ({"database", "docker"}, "sqlite short"),
    ],
)
def test_what_the_database_can_change_runs_on_both(passes: dict[str, str], marks: set[str], expected: str) -> None:
    assert [name for name, each in passes.items() if chosen(each, frozenset(marks))] == expected.split()


@pytest.mark.usefixtures("transactional_db")
def test_a_test_that_commits_is_marked_and_only_the_first_of_a_file_repeated(request: pytest.FixtureRequest) -> None:
    marks = {mark.name for mark in request.node.iter_markers()}
    assert "database" in marks
    assert "both" not in marks


def test_the_first_test_of_each_file_is_marked_whatever_its_name(root: Path) -> None:
    files = [f"tests/architecture/test_{name}.py" for name in ("order", "public_names")]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "--collect-only", "--quiet", "-m", "first", *files],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert sorted(line for line in listed.stdout.splitlines() if "::" in line) == [
        f"{files[0]}::test_every_test_is_in_a_pass_whatever_its_marks",
        f"{files[1]}::test_a_module_promises_exactly_its_public_names[evaluation]",
    ]


def test_a_test_without_a_database_is_not_marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("database") is None


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 7])
def test_slow_tests_begin_first_in_every_process(processes: int) -> None:
    """The parts are those that `worksteal` makes."""
    draw = random.Random(processes)
    for count in range(40):
        seconds = {number: draw.choice([0.0, 0.0, 0.0, 5.0, 60.0]) for number in range(count)}
        order = spread(list(seconds), processes, seconds.__getitem__, lambda number: number // 3)
        assert sorted(order) == list(range(count))
        begun = []
        for number in range(processes):
            part, order = order[: len(order) // (processes - number)], order[len(order) // (processes - number) :]
            slow = [seconds[each] for each in part if seconds[each]]
            last = number == processes - 1 and processes > 2
            assert slow == sorted(slow, reverse=not last)
            assert [seconds[each] for each in part[: len(slow)]] == slow
            begun += sorted(slow, reverse=True)[:1]
        assert sorted(begun, reverse=True) == sorted(filter(None, seconds.values()), reverse=True)[: len(begun)]


def test_tests_that_commit_are_not_left_to_the_end_and_files_stay_together() -> None:
    """As pytest-django hands them over: of each of 20 files first what does not commit, then of each what does."""
    items = [(commits, file, number) for commits in (False, True) for file in range(20) for number in range(5)]
    order = spread(items, 2, lambda item: 0.0, lambda item: item[1])
    assert sorted(order) == items
    for half in (order[:100], order[100:]):
        assert 20 <= sum(commits for commits, _, _ in half) <= 80
    runs = [key for key, _ in itertools.groupby(order, lambda item: item[:2])]
    assert len(runs) <= 41, "one file may be in two halves"


def test_no_two_processes_have_one_slot(tmp_path: Path) -> None:
    first = Slot(tmp_path)
    taking = "import sys; from pathlib import Path; from tests.slots import Slot; print(Slot(Path(sys.argv[1])).number)"
    other = subprocess.run([sys.executable, "-c", taking, str(tmp_path)], capture_output=True, text=True, check=True)
    second = Slot(tmp_path)
    assert (first.number, int(other.stdout), second.number) == (0, 1, 1), "a process that ended keeps none"
    first.close()
    third = Slot(tmp_path)
    assert third.number == 0
    for slot in (second, third):
        slot.close()
