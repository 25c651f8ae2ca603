"""Build logs: stable line numbers, stored while they grow, bounded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import DatabaseError

from core import clock
from submissions import build_queue
from submissions.build_logs import LAST_LINES, MAX_BYTES, MAX_LINE_CHARACTERS, LogWriter
from submissions.models import Build, LogChunk, Submission
from submissions.selectors import log_lines, whole_log

pytestmark = pytest.mark.django_db


@pytest.fixture
def build(submit: Callable[..., Submission]) -> Build:
    """A build that a worker holds."""
    claimed = build_queue.claim(submit("model", {"main.py": ""}).pk, "worker")
    assert claimed is not None
    return claimed


def texts(build: Build) -> list[str]:
    return [line.text for line in log_lines(build, limit=10_000).lines]


def test_lines_are_numbered_through_the_stages_and_read_back_in_order(build: Build) -> None:
    writer = LogWriter(build)
    writer.write("one")
    writer.write("")
    writer.flush()
    writer.flush()
    writer.begin(LogChunk.Stage.SMOKE)
    writer.write("three")
    writer.close()

    page = log_lines(build)

    assert [(line.number, line.stage, line.text) for line in page.lines] == [
        (1, "build", "one"),
        (2, "build", ""),
        (3, "smoke", "three"),
    ]
    assert (page.last, page.over) == (3, False)
    assert "".join(whole_log(build)) == "one\n\nthree\n"


def test_reading_in_pages_gives_every_line_once(build: Build) -> None:
    writer = LogWriter(build)
    for number in range(1, 26):
        writer.write(f"line {number}")
        if number % 7 == 0:
            writer.flush()
    writer.flush()

    seen: list[str] = []
    after = 0
    while lines := log_lines(build, after, limit=4).lines:
        seen += [line.text for line in lines]
        after = lines[-1].number

    assert seen == [f"line {number}" for number in range(1, 26)]
    assert log_lines(build, after).last == 25


def test_a_log_ends_with_its_build(build: Build) -> None:
    writer = LogWriter(build)
    writer.write("last")
    writer.close()
    build_queue.stop(build.submission)

    assert log_lines(build).over
    assert not log_lines(build, limit=0).over


def test_control_characters_and_long_lines_are_cut(build: Build) -> None:
    writer = LogWriter(build)
    writer.write("\x1b[31mred\x1b[0m\x00\a\ttab\u2028\ud800")
    writer.write("x" * 100_000)
    writer.flush()

    assert texts(build) == ["red\ttab", "x" * MAX_LINE_CHARACTERS]


def test_bytes_are_limited_too(build: Build) -> None:
    writer = LogWriter(build)
    for _ in range(2 * MAX_BYTES // MAX_LINE_CHARACTERS):
        writer.write("x" * MAX_LINE_CHARACTERS)
    writer.close()

    stored = sum(map(len, LogChunk.objects.values_list("text", flat=True)))
    assert stored <= MAX_BYTES + (LAST_LINES + 2) * (MAX_LINE_CHARACTERS + 1)


def test_a_few_extra_lines_are_all_kept(build: Build) -> None:
    writer = LogWriter(build)
    kept = MAX_BYTES // (MAX_LINE_CHARACTERS + 1) + 1
    for number in range(kept + LAST_LINES):
        writer.write(f"{number:>{MAX_LINE_CHARACTERS}}")
    writer.close()

    assert [int(text) for text in texts(build)] == list(range(kept + LAST_LINES))


def test_it_rejects_lines_of_a_build_that_another_worker_holds(build: Build) -> None:
    writer = LogWriter(build)
    writer.write("in time")
    writer.flush()
    build_queue.stop(build.submission)
    writer.write("too late")
    writer.close()

    assert texts(build) == ["in time"]


def test_lines_wait_while_the_database_is_not_available(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = LogWriter(build)
    writer.write("one")
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", _away)
        with pytest.raises(DatabaseError):
            writer.flush()
    writer.write("two")
    writer.flush()

    assert texts(build) == ["one", "two"]


def _away() -> None:
    raise DatabaseError("gone")
