"""One way to round and write a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from accounts.models import User
from competitions.freeze_windows import extend_window
from competitions.models import Competition, FreezeWindow
from core.errors import Refusal
from core.time_format import in_words
from pages.templatetags.gauntlet import moment
from repositories.http.push_hooks import refusal_text
from submissions.admission import check_calendar
from tests.platform.conftest import FakeClock

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (timedelta(0), "2026-11-22 12:00 UTC"),
        (timedelta(microseconds=1), "2026-11-22 12:01 UTC"),
        (timedelta(seconds=59, microseconds=999_999), "2026-11-22 12:01 UTC"),
        (timedelta(minutes=1), "2026-11-22 12:01 UTC"),
        (timedelta(hours=11, minutes=59, seconds=1), "2026-11-23 00:00 UTC"),
    ],
)
def test_a_time_is_never_written_earlier_than_it_is(later: timedelta, words: str) -> None:
    assert in_words(NOON + later) == words


def test_times_of_other_zones_are_written_in_utc() -> None:
    assert in_words(datetime(2026, 11, 22, 13, 0, tzinfo=timezone(timedelta(hours=1)))) == "2026-11-22 12:00 UTC"


def test_the_end_of_a_freeze_reads_the_same_in_a_push_the_admin_and_a_page(
    competition: Competition, olga: User, the_clock: FakeClock
) -> None:
    ends = the_clock.at + timedelta(minutes=30, seconds=20)
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=the_clock.at, ends_at=ends, reason="the final"
    )
    with pytest.raises(Refusal) as pushed:
        check_calendar(competition)
    with pytest.raises(Refusal) as extended:
        extend_window(window=window, ends_at=ends, by=olga, reason="later")
    assert "frozen until 2026-11-21 12:31 UTC" in pushed.value.problem
    assert "accepted again from 2026-11-21 12:31 UTC" in refusal_text(pushed.value, the_clock.at)
    assert "already ends at 2026-11-21 12:31 UTC" in extended.value.problem
    assert ">21 Nov 2026, 12:31 UTC</time>" in moment(ends)


def test_times_are_written_in_one_module(root: Path) -> None:
    """A format with %Y or %M, a division into minutes, or Django's filter elsewhere would be another way."""
    own = re.compile(r"strftime|:%[YmdHMSb]|// 60|\|\s*(date|time|timesince|timeuntil)\b")
    sources = [each for ending in ("py", "html", "txt") for each in (root / "platform").rglob(f"*.{ending}")]
    places = {each.relative_to(root).as_posix() for each in sources if own.search(each.read_text(encoding="utf-8"))}
    assert places == {"platform/core/time_format.py"}
