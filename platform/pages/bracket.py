"""The bracket of a published round as one track sees it: stage beside stage, who met whom, who was cut by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from competitions.models import Track
from rounds.decision_text import why
from rounds.selectors import BracketView, Line, Name, StageView, StandingRow

MEDIAN = "median"


@dataclass(frozen=True)
class Opponent:
    """A member of the panel that the track's players met. `counts`: its results were scored."""

    name: Name
    counts: bool


@dataclass(frozen=True)
class Column:
    """A stage, as one track saw it: `met` players, of whom `kept` stayed. `cut_line` is "" where nobody was cut.

    `panel` is None where it is not to be seen yet.
    """

    number: int
    samples: int
    by_median: bool
    met: int
    kept: int
    cut_line: str
    panel: Sequence[Opponent] | None
    loop: int
    renewed: bool


@dataclass(frozen=True)
class Cell:
    """What a stage decided on a player."""

    place: int
    value: str
    kept: bool
    spared: bool
    inconsistent: bool


@dataclass(frozen=True)
class Way:
    """A player's way through the stages, and how many of them it did not see any more."""

    name: Name
    cells: Sequence[Cell]
    unseen: int


@dataclass(frozen=True)
class Bracket:
    """Stages from left to right, players from the first place to the last; `cuts` says of each player that was cut,
    or left as inconsistent, where and by what."""

    columns: Sequence[Column]
    ways: Sequence[Way]
    cuts: Mapping[int, str]


def bracket(
    brackets: Sequence[BracketView], track_name: str, rows: Sequence[StandingRow], *, without_first_panel: bool = False
) -> Bracket:
    """The bracket of the track `track_name`, whose standings are `rows`.

    `without_first_panel`: that of stage 1 is left out, which is seated in the order of the leaderboards.
    """
    arena = Track.Name.TARGETED if track_name == Track.Name.TARGETED else Track.Name.UNTARGETED
    stages = next((each.stages for each in brackets if each.track_name == arena), ())
    lines = [_lines(stage, track_name) for stage in stages]
    columns = [_column(stage, track_name, decided) for stage, decided in zip(stages, lines, strict=True)]
    if without_first_panel and columns and arena == Track.Name.UNTARGETED:
        columns[0] = replace(columns[0], panel=None)
    cells = [
        {line.name.player: (line.name, _cell(line, by_median=column.by_median)) for line in decided}
        for column, decided in zip(columns, lines, strict=True)
    ]
    cuts = {
        line.name.player: why(stage, line)
        for stage, decided in zip(stages, lines, strict=True)
        for line in decided
        if not line.kept
    }
    if track_name == Track.Name.MODEL:
        cuts |= _left_later(brackets)
    ways = []
    for player in dict.fromkeys(row.player for row in rows):
        met = [stage[player] for stage in cells if player in stage]
        if met:
            ways.append(Way(met[0][0], [cell for _, cell in met], len(stages) - len(met)))
    return Bracket(columns, ways, cuts)


def _left_later(brackets: Sequence[BracketView]) -> Mapping[int, str]:
    """The models that left as inconsistent in the bracket of the targeted attacks."""
    later = (each for each in brackets if each.track_name == Track.Name.TARGETED)
    return {
        line.name.player: f"{why(stage, line)} (targeted attacks)"
        for each in later
        for stage in each.stages
        for line in stage.models
        if line.inconsistent
    }


def _lines(stage: StageView, track_name: str) -> Sequence[Line]:
    return stage.models if track_name == Track.Name.MODEL else stage.attacks


def _column(stage: StageView, track_name: str, lines: Sequence[Line]) -> Column:
    met_attacks = track_name == Track.Name.MODEL
    panel = stage.panel_attacks if met_attacks else stage.panel_models
    counted = {name.player for name in (stage.counted_attacks if met_attacks else stage.counted_models)}
    by_median = stage.ordered_by == MEDIAN
    kept = sum(line.kept for line in lines)
    line = next((line.cut_line for line in lines), None) if kept < len(lines) else None
    return Column(
        number=stage.number,
        samples=stage.samples,
        by_median=by_median,
        met=len(lines),
        kept=kept,
        cut_line=_number(line, by_median=by_median),
        panel=[Opponent(name, name.player in counted) for name in panel],
        loop=stage.loop,
        renewed=stage.renewed,
    )


def _cell(line: Line, *, by_median: bool) -> Cell:
    return Cell(line.place, _number(line.value, by_median=by_median), line.kept, line.spared, line.inconsistent)


def _number(value: float | None, *, by_median: bool) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if by_median else f"{value:.2f}"
