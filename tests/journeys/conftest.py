"""What the journeys share: their sites, and what they read from outside."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from tests.journeys.sites import MakeSite, PlayedSeason
from tests.slots import Slot

BOARD_LINE = re.compile(r"^\s+\d+(?: \(.+?\))? │ .*$", re.MULTILINE)


def wait_for(what: str, condition: Callable[[], object], *, seconds: float = 120.0) -> None:
    """Wait until `condition` holds; fails naming `what` otherwise."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:g} s"
        time.sleep(0.2)


@pytest.fixture
def wait() -> Callable[..., None]:
    """`wait_for`."""
    return wait_for


@pytest.fixture
def make_site(root: Path, tmp_path: Path, slot: Slot) -> Iterator[MakeSite]:
    """Makes sites, which end with the test."""
    made = MakeSite(root, tmp_path, slot)
    yield made
    made.close()


@pytest.fixture(scope="session")
def season(root: Path, shared_folder: Path, slot: Slot) -> Iterator[PlayedSeason]:
    """The demo of the small competition on the services, with a development round and a released final.

    All processes of this run share it.
    """
    shared = PlayedSeason(shared_folder / "season", root, slot)
    yield shared
    shared.close()


@pytest.fixture
def board_rows() -> Callable[[str], list[str]]:
    """The rows of all boards in what the demo printed, in order; fails where there is none."""

    def read(output: str) -> list[str]:
        rows = [line.strip() for line in BOARD_LINE.findall(output)]
        assert rows, "no row of a board was printed"
        return rows

    return read


@pytest.fixture
def page() -> Callable[[str], str]:
    """The text of a page; empty where it is not there."""

    def read(url: str) -> str:
        answer = requests.get(url, timeout=10)
        return answer.text if answer.ok else ""

    return read
