"""`[[rounds]]` of a competition's file as it is read, and its dates when they are moved."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import demo
from competitions.competition_file_reader import read
from competitions.shifted_dates import shifted
from core.errors import Refusal

DIGITS = tomllib.loads(Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8"))
MAY = datetime(2030, 5, 1, tzinfo=UTC)
TEMPLATES = ["avc-2018", "nips-2017", "decision-1000", "digits-transfer", "digits-decision-1000"]


def table(title: str, sample_set: str, day: int = 0, **others: Any) -> dict[str, Any]:
    """A development round of 72 hours in May, or another one."""
    starts_at = MAY + timedelta(days=day)
    values = {"kind": "development", "starts_at": starts_at, "ends_at": starts_at + timedelta(hours=72)}
    return {"title": title, "sample_set": sample_set} | values | others


def with_rounds(*tables: dict[str, Any], **others: Any) -> dict[str, Any]:
    return deepcopy(DIGITS) | {"rounds": list(tables)} | others


def test_rounds_are_read_with_their_own_values_and_with_defaults() -> None:
    final = table("Final", "final", 40, kind="final", schedule="halving", samples=8)
    first, last = read(with_rounds(table("Round 1", "test-1"), final)).rounds
    assert (first.title, first.kind, first.samples, first.schedule, first.guard) == (
        "Round 1",
        "development",
        10,
        "",
        False,
    )
    assert (first.starts_at, first.ends_at) == (MAY, MAY + timedelta(days=3))
    assert (last.kind, last.sample_set, last.samples, last.schedule) == ("final", "final", 8, "halving")
    assert read(deepcopy(DIGITS)).rounds == ()


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"sample_set": "test-3"}, r"number 1 sample_set: the file has no sample set 'test-3'"),
        ({"sample_set": "final"}, r"sample_set: 'final' is for final, and a round of the kind development"),
        ({"sample_set": "validation"}, r"sample_set: 'validation' is for validation"),
        ({"samples": 11}, r"samples: 'test-1' has 10 samples, not 11"),
        ({"samples": 0}, r"samples: 0 is not valid"),
        ({"title": "  "}, r"title: has only spaces"),
        ({"kind": "friendly"}, r"kind: 'friendly' is unknown"),
        ({"schedule": "all"}, r"number 1 \(Round 1\) schedule: the query format has no schedule 'all'"),
        ({"schedule": "halving", "guard": True}, r"number 1 \(Round 1\) guard: the schedule halving has no guarded"),
        ({"ends_at": MAY}, r"number 1 ends_at: is not after starts_at"),
        ({"starts_at": "tomorrow"}, r"number 1 starts_at: 'tomorrow' is not a time"),
        ({"window": 3}, r"number 1 window: unknown key"),
    ],
)
def test_it_rejects_a_wrong_round(others: dict[str, Any], problem: str) -> None:
    with pytest.raises(Refusal, match=problem) as refused:
        read(with_rounds(table("Round 1", "test-1") | others))
    assert refused.value.fix


def test_it_rejects_windows_that_overlap() -> None:
    with pytest.raises(
        Refusal, match=r"number 2 \(Round 2\) overlaps .* number 1 \(Round 1\), 2030-05-01 00:00 UTC to"
    ):
        read(with_rounds(table("Round 1", "test-1"), table("Round 2", "test-2", 2)))
    assert len(read(with_rounds(table("Round 1", "test-1"), table("Round 2", "test-2", 3))).rounds) == 2
    window = {"starts_at": MAY, "ends_at": MAY + timedelta(days=1), "reason": "Development round 1"}
    with pytest.raises(Refusal, match=r"\(Round 1\) overlaps \[\[freeze_windows\]\] number 1") as refused:
        read(with_rounds(table("Round 1", "test-1"), freeze_windows=[window]))
    assert "no freeze window beside its own" in refused.value.fix


def test_it_rejects_two_rounds_on_one_sample_set() -> None:
    with pytest.raises(Refusal, match=r"number 2 sample_set: 'test-1' is already used by 'Round 1'"):
        read(with_rounds(table("Round 1", "test-1"), table("Round 2", "test-1", 9)))


@pytest.mark.parametrize(("key", "value"), [("schedule", "ladder-2"), ("guard", True)])
def test_it_rejects_the_schedules_of_another_format(root: Path, key: str, value: object) -> None:
    document = tomllib.loads((root / "competitions" / "digits-transfer.toml").read_text(encoding="utf-8"))
    document["rounds"][0][key] = value
    with pytest.raises(Refusal, match=rf"\(Development round\) {key}: the transfer format has no"):
        read(document)


@pytest.mark.parametrize("name", TEMPLATES)
def test_all_dates_of_a_template_move_together(root: Path, name: str) -> None:
    document = tomllib.loads((root / "competitions" / f"{name}.toml").read_text(encoding="utf-8"))
    before, after = read(document), read(shifted(document, MAY))
    assert after.about["starts_at"] == MAY
    by = MAY - before.about["starts_at"]
    assert after.about["ends_at"] == before.about["ends_at"] + by
    assert [each.starts_at - by for each in after.rounds] == [each.starts_at for each in before.rounds]
    assert [each.ends_at - each.starts_at for each in after.rounds] == [
        each.ends_at - each.starts_at for each in before.rounds
    ]


def test_dates_cannot_move_from_nowhere_or_out_of_the_calendar() -> None:
    with pytest.raises(Refusal, match="starts_at: is not a time with a zone"):
        shifted({"competition": {"starts_at": "today"}}, MAY)
    with pytest.raises(Refusal, match="would leave the calendar"):
        shifted(with_rounds(table("Round 1", "test-1")), datetime(9999, 12, 1, tzinfo=UTC))
