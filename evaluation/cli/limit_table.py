"""The table of limits at the end of `gauntlet check`: what was measured, and how much room is left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.text import Text

from evaluation.cli.output import OUT, print_table
from evaluation.domain.limit_use import NEAR, LimitUse, Room, Unit

_MARKS: Mapping[Room, str | Text] = {
    Room.ENOUGH: "ok",
    Room.LITTLE: Text("near the limit", style="yellow"),
    Room.NONE: Text("over the limit", style="red"),
    Room.UNKNOWN: "not measured",
}
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def show_limits(limits: Sequence[LimitUse]) -> None:
    """Print the table, and below it how estimated rows were made, and which rows leave little room."""
    print_table("Limits", ("", "used", "limit", "share", ""), [_row(limit) for limit in limits], text=(0, 4))
    if any(limit.estimated for limit in limits):
        OUT.print(
            "up to: extended to a whole batch, as if start-up grew with the images, too; more --samples say more."
        )
    for limit in limits:
        if limit.room is Room.LITTLE:
            _warn(f"{limit.name}: {NEAR:.0%} or more of the limit is used")
        elif limit.room is Room.NONE and limit.estimated:
            _warn(f"{limit.name}: may be over the limit; check with more --samples")


def exceeded(limits: Sequence[LimitUse]) -> list[LimitUse]:
    """Return the limits that a submission was seen to exceed; an estimate proves nothing."""
    return [limit for limit in limits if limit.room is Room.NONE and not limit.estimated]


def _warn(text: str) -> None:
    OUT.print(f"Warning: {text}", style="yellow", markup=False, highlight=False)


def _row(limit: LimitUse) -> tuple[str | Text, ...]:
    if limit.used is None or limit.share is None:
        return limit.name, "-", _amount(limit.limit, limit.unit), "-", _MARKS[limit.room]
    used = _amount(limit.used, limit.unit)
    share = "under 1 %" if limit.share < 0.01 else f"{math.ceil(limit.share * 100)} %"
    return (
        limit.name,
        f"up to {used}" if limit.estimated else used,
        _amount(limit.limit, limit.unit),
        share,
        _MARKS[limit.room],
    )


def _amount(value: float, unit: Unit) -> str:
    if unit is Unit.SECONDS:
        return f"{value * 1000:,.3g} ms" if value < 1 else f"{value:,.1f} s" if value % 1 else f"{value:,.0f} s"
    if unit is Unit.COUNT:
        return f"{math.ceil(value):,}"
    size, name = next(((size, name) for size, name in _SIZES if value >= size), (1, "bytes"))
    amount = value / size
    return f"{amount:,.0f} {name}" if amount == round(amount) or amount >= 100 else f"{amount:,.1f} {name}"
