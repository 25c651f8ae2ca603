"""What the commitment of the freeze covers: a holder of the key cannot change it afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signing import sign
from evaluation.formats.query.bundle.verify import verify
from evaluation.formats.query.bundle.writer import NARROW_FIELD, Record, field_commitment_of
from tests.evaluation.bundle.bodies import body

CHANGED = "the commitment to the field does not match the entrants and the rules"


def committed(record: Record, **head: Any) -> Record:
    """Return the record with another head, and with the commitment that belongs to it."""
    changed = replace(record.head, **head)
    found = field_commitment_of(changed, record.facts, record.submissions, record.eligible_at_freeze)
    return replace(record, head=replace(changed, field_commitment=found))


def problems(record: Record, seed: bytes) -> list[str]:
    """Return what `verify` says of the record, derived and signed again."""
    return [problem.text for problem in verify(sign(body(record), seed), public_key(seed)).problems]


def bundled(record: Record) -> Record:
    first, *others = record.facts.entrants
    return replace(record, facts=replace(record.facts, entrants=(replace(first, bundled=True), *others)))


def licence(record: Record) -> Record:
    player = record.facts.entrants[0].player
    changed = (replace(record.submissions[player][0], licence="GPL-3.0-only"),)
    return replace(record, submissions={**record.submissions, player: changed})


def eligibility(record: Record) -> Record:
    player = record.facts.entrants[0].player
    return replace(record, eligible_at_freeze={**record.eligible_at_freeze, player: (False,)})


def rules(record: Record) -> Record:
    return replace(record, head=replace(record.head, rules={**record.head.rules, "piece_samples": 9}))


CHANGES = {one.__name__: one for one in (bundled, licence, eligibility, rules)}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_the_freeze_fixed_cannot_change(played: Record, seed: bytes, change: Callable[[Record], Record]) -> None:
    assert problems(played, seed) == []
    assert problems(change(played), seed) == [CHANGED]


def test_organisers_may_judge_licences_after_the_freeze(played: Record, seed: bytes) -> None:
    player = played.facts.entrants[0].player
    refused = (replace(played.submissions[player][0], eligible=False, why="its licence was refused"),)
    assert problems(replace(played, submissions={**played.submissions, player: refused}), seed) == []


def test_rounds_frozen_by_an_earlier_version_still_verify(played: Record, seed: bytes) -> None:
    earlier = committed(played, format=NARROW_FIELD)
    content = body(earlier)
    lines = [json.loads(line) for line in content.splitlines()]
    assert lines[0]["format"] == 2
    assert not any("median" in line or "eligible_at_freeze" in line for line in lines)
    assert problems(earlier, seed) == []
    # their field has no `bundled`
    assert problems(bundled(earlier), seed) == []


def test_development_rounds_have_a_sweep(played: Record, seed: bytes) -> None:
    assert problems(committed(played, kind="development"), seed) == []
    earlier = committed(played, kind="development", format=NARROW_FIELD)
    assert problems(earlier, seed) == ["a final needs a sweep, and no other round of this format may have one"]


def test_an_unknown_schedule_decides_nothing(played: Record, seed: bytes) -> None:
    other = committed(replace(played, facts=replace(played.facts, schedule="lottery")))
    head, *others = body(played).splitlines(keepends=True)
    line = json.loads(head) | {"schedule": "lottery", "field_commitment": other.head.field_commitment}
    text = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    report = verify(sign(text.encode() + b"\n" + b"".join(others), seed), public_key(seed))
    assert "'lottery'" in report.problems[0].text
