"""The rounds of a competition's file: they are planned when it is imported, and an export writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from competitions.extension_points import checked_schedules, described_rounds, planned_rounds
from competitions.freeze_windows import is_known
from core import clock
from core.errors import Refusal
from core.time_format import in_words
from rounds.formats import round_formats
from rounds.models import Round
from rounds.planning.plan import plan_round

if TYPE_CHECKING:
    from accounts.models import User
    from competitions.models import Competition
    from competitions.planned_rounds_in_file import RoundTable


@checked_schedules.add
def check_schedules(format_name: str, tables: Sequence[RoundTable]) -> None:
    """Raise `Refusal` for a schedule that the format does not have, and for guarded cuts that it does not have."""
    for table in tables:
        known = list(round_formats[format_name].schedules)
        if table.schedule and table.schedule not in known:
            raise Refusal(
                f"{table.place} schedule: the {format_name} format has no schedule {table.schedule!r}",
                fix=f"remove the line, or write one of: {', '.join(known)}",
            )
        try:
            _, guard = round_formats[format_name].schedule(table.schedule or known[0], guard=table.guard)
        except Refusal as refusal:
            raise Refusal(f"{table.place} guard: {refusal.problem}", fix=refusal.fix) from refusal
        if table.guard and not guard:
            raise Refusal(f"{table.place} guard: the {format_name} format has no cuts", fix="remove the line")


@planned_rounds.add
def plan_rounds(competition: Competition, tables: Sequence[RoundTable], by: User | None) -> None:
    """Plan the rounds of a file, in the transaction of its import: all of them or none.

    A round of the file that is planned, under way or over stays as it is, and one that was cancelled is not planned
    again. Raise `Refusal` naming the place where a round would begin in the past, differs from the one that is planned
    on its sample set, or cannot be planned (see `plan_round`).
    """
    for table in tables:
        source = competition.sample_sets.get(name=table.sample_set)
        earlier = list(competition.rounds.filter(sample_set__drawn_from=source).select_related("window", "sample_set"))
        live = next((each for each in earlier if each.state != Round.State.CANCELLED), None)
        if live is not None:
            _require_equal(live, table)
        elif all(each.title != table.title for each in earlier):
            _plan(competition, table, by)


@described_rounds.add
def round_tables(competition: Competition) -> list[dict[str, Any]]:
    """Return the tables of the rounds that were not cancelled, in the order of their windows."""
    rounds = competition.rounds.exclude(state=Round.State.CANCELLED).order_by("window__starts_at")
    return [_table(round_) for round_ in rounds.select_related("window", "sample_set__drawn_from")]


def _plan(competition: Competition, table: RoundTable, by: User | None) -> None:
    if table.starts_at < clock.database_now():
        raise Refusal(
            f"{table.place} starts_at: {in_words(table.starts_at)} is in the past",
            fix="give later times; manage.py competition import FILE --starts 2027-07-01 moves all dates of the file",
        )
    try:
        plan_round(
            competition=competition,
            title=table.title,
            kind=table.kind,
            schedule=table.schedule or next(iter(round_formats.of(competition).schedules)),
            guard=table.guard,
            source=competition.sample_sets.get(name=table.sample_set),
            samples=table.samples,
            starts_at=table.starts_at,
            ends_at=table.ends_at,
            by=by,
            reason="the competition's file",
            objection_days=table.objection_days,
        )
    except Refusal as refusal:
        raise Refusal(f"{table.place}: {refusal.problem}", fix=refusal.fix) from refusal


def _require_equal(live: Round, table: RoundTable) -> None:
    """Raise `Refusal` if the file has other values than the round had when it was planned."""
    schedule = table.schedule or live.schedule
    days = live.objection_days if table.objection_days is None else table.objection_days
    given = (table.title, table.kind, table.samples, schedule, table.guard, days)
    planned = (live.title, live.kind, live.sample_set.count, live.schedule, live.guard, live.objection_days)
    window = {"starts_at": table.starts_at, "ends_at": table.ends_at, "reason": live.window.reason}
    same_window = is_known(live.competition, window)
    if given != planned or not same_window:
        raise Refusal(
            f"{table.place}: {live.title!r} is already {live.get_state_display()} on {table.sample_set!r}, with other "
            f"{'values' if same_window else 'times'}",
            fix="leave it as it was, or cancel that round and give this one another title"
            if live.state == Round.State.PLANNED
            else "leave it as it was; for a further round, add a table with another sample set",
        )


def _table(round_: Round) -> dict[str, Any]:
    source = round_.sample_set.drawn_from
    table: dict[str, Any] = {"title": round_.title, "kind": round_.kind}
    if source is not None:
        table["sample_set"] = source.name
        if round_.sample_set.count != source.count:
            table["samples"] = round_.sample_set.count
    if len(round_formats.of(round_.competition).schedules) > 1:
        table["schedule"] = round_.schedule
    if round_.guard:
        table["guard"] = True
    if round_.objection_days != round_.competition.objection_days:
        table["objection_days"] = round_.objection_days
    return table | {"starts_at": round_.window.starts_at, "ends_at": round_.window.ends_at}
