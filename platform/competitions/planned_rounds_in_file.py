"""The rounds that a competition's file plans: typed values of `[[rounds]]`, and the checks that need no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from competitions.models import MAX_OBJECTION_DAYS, SampleSet
from competitions.toml_fields import TomlTable, did_you_mean
from core.errors import Refusal
from core.time_format import in_words

ROUND = ("title", "kind", "sample_set", "samples", "schedule", "guard", "objection_days", "starts_at", "ends_at")
PURPOSES = {"development": SampleSet.Purpose.TEST, "final": SampleSet.Purpose.FINAL}
"""The purpose of the samples that a round plays on, by the kind of round."""


@dataclass(frozen=True)
class RoundTable:
    """A round of the file. `place` is where it stands; an empty `schedule` is the first one of the format.

    `objection_days` is None for those of the competition.
    """

    place: str
    title: str
    kind: str
    sample_set: str
    samples: int
    schedule: str
    guard: bool
    objection_days: int | None
    starts_at: datetime
    ends_at: datetime


@dataclass(frozen=True)
class _Span:
    """A period in which submissions are closed."""

    place: str
    starts_at: datetime
    ends_at: datetime


def read_rounds(
    tables: Sequence[TomlTable], sample_sets: Sequence[Mapping[str, Any]], windows: Sequence[Mapping[str, Any]]
) -> tuple[RoundTable, ...]:
    """Read the rounds of a file with these sample sets and freeze windows; those with errors are left out.

    Raise `Refusal` naming rounds at the same time.
    """
    sets = {values["name"]: values for values in sample_sets}
    found: list[RoundTable] = []
    for table in tables:
        with table.errors.collected():
            if (row := _round(table, sets)) is None:
                continue
            if other := next((each for each in found if each.sample_set == row.sample_set), None):
                problem = f"{row.sample_set!r} is already used by {other.title!r}"
                fix = "name another set: a round plays on images that nobody has met"
                raise table.refusal("sample_set", problem, fix)
            found.append(row)
    spans = [
        _Span(f"[[freeze_windows]] number {number}", values["starts_at"], values["ends_at"])
        for number, values in enumerate(windows, 1)
    ]
    _require_apart([*spans, *(_Span(each.place, each.starts_at, each.ends_at) for each in found)])
    return tuple(found)


def _round(table: TomlTable, sets: Mapping[str, Mapping[str, Any]]) -> RoundTable | None:
    """Return the round, None if its table has added errors. Raise `Refusal` for a value that does not fit the file."""
    before = len(table.errors)
    title, kind = table.text("title", most=120), table.choice("kind", PURPOSES)
    name = table.text("sample_set", most=40)
    chosen = table.number("samples", 1, 2**31 - 1) if "samples" in table.content else None
    schedule, guard = table.text("schedule", most=8, default=""), table.flag("guard", default=False)
    days = table.number("objection_days", 0, MAX_OBJECTION_DAYS) if "objection_days" in table.content else None
    starts_at, ends_at = table.span()
    if len(table.errors) > before:
        return None
    title = title.strip()
    if not title:
        raise table.refusal("title", "has only spaces", 'write one, for example "Development round 1"')
    if name not in sets:
        hint = did_you_mean(name, sets)
        raise table.refusal("sample_set", f"the file has no sample set {name!r}", f"name one of [[sample_sets]]{hint}")
    purpose, count = sets[name]["purpose"], sets[name]["count"]
    if purpose != PURPOSES[kind]:
        raise table.refusal(
            "sample_set",
            f"{name!r} is for {purpose}, and a round of the kind {kind} plays on samples for {PURPOSES[kind]}",
            f'name a set with purpose = "{PURPOSES[kind]}"',
        )
    samples = count if chosen is None else chosen
    if samples > count:
        raise table.refusal(
            "samples", f"{name!r} has {count:,} samples, not {samples:,}", f"write 1 to {count:,}, or a larger set"
        )
    return RoundTable(
        place=f"{table.place} ({title})",
        title=title,
        kind=kind,
        sample_set=name,
        samples=samples,
        schedule=schedule,
        guard=guard,
        objection_days=days,
        starts_at=starts_at,
        ends_at=ends_at,
    )


def _require_apart(spans: Sequence[_Span]) -> None:
    """Raise `Refusal` where two periods overlap and one of them is a round's."""
    for number, later in enumerate(spans):
        for earlier in spans[:number]:
            overlap = later.starts_at < earlier.ends_at and earlier.starts_at < later.ends_at
            if overlap and later.place.startswith("[[rounds]]"):
                raise Refusal(
                    f"{later.place} overlaps {earlier.place}, {in_words(earlier.starts_at)} to "
                    f"{in_words(earlier.ends_at)}",
                    fix="give them different times; a round needs no freeze window beside its own",
                )
