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

MARKS = ("docker", "journey", "database", "slow")


def passes(root: Path) -> list[str]:
    """The expressions of marks that the Makefile runs, one after the other."""
    return re.findall(r"^\w+_PASS := (.*)$", (root / "Makefile").read_text(), re.MULTILINE)


def chosen(expression: str, marks: frozenset[str]) -> bool:
    """Whether pytest runs a test with these marks."""

    def has(name: str, /, **_: object) -> bool:
        return name in marks

    return Expression.compile(expression).evaluate(has)


def test_every_test_is_in_a_pass_whatever_its_marks(root: Path) -> None:
    assert len(passes(root)) == 2
    for size in range(len(MARKS) + 1):
        for marks in map(frozenset, itertools.combinations(MARKS, size)):
            assert any(chosen(each, marks) for each in passes(root)), f"nothing runs a test with the marks {set(marks)}"


def test_what_the_database_can_change_runs_on_both(root: Path) -> None:
    assert [chosen(each, frozenset({"database"})) for each in passes(root)] == [True, True]
    assert [chosen(each, frozenset({"journey"})) for each in passes(root)] == [False, True]
    assert [chosen(each, frozenset({"docker", "journey"})) for each in passes(root)] == [True, False]
    assert [chosen(each, frozenset()) for each in passes(root)] == [True, False]


@pytest.mark.usefixtures("transactional_db")
def test_a_test_that_commits_is_marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("database") is not None


def test_a_test_without_a_database_is_not_marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("database") is None


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 7])
def test_slow_tests_begin_first_in_every_process(processes: int) -> None:
    """The parts are those that `worksteal` makes."""
    draw = random.Random(processes)
    for count in range(40):
        seconds = {number: draw.choice([0.0, 0.0, 0.0, 5.0, 60.0]) for number in range(count)}
        order = spread(list(seconds), processes, seconds.__getitem__)
        assert sorted(order) == list(range(count))
        begun = []
        for number in range(processes):
            part, order = order[: len(order) // (processes - number)], order[len(order) // (processes - number) :]
            assert [seconds[each] for each in part] == sorted((seconds[each] for each in part), reverse=True)
            begun += [seconds[each] for each in part[:1]]
        assert sorted(begun, reverse=True) == sorted(seconds.values(), reverse=True)[: len(begun)]


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
