"""Bracket of a published round for one track: stages, opponents and cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from formats.query.rounds.decision_text import why
from formats.query.rounds.stages_and_decisions import BracketView, DecisionLogLine, Name, StageView
from formats.query.tracks import MODEL, TARGETED, UNTARGETED
from rounds.selectors import StandingRow

MEDIAN = "median"

NO_MATCHES: Mapping[tuple[int, int], int] = {}


@dataclass(frozen=True)
class PanelOpponent:
    """A member of the panel that the players of the track met. `counts`: its results were scored."""

    name: Name
    counts: bool


@dataclass(frozen=True)
class BracketStage:
    """A stage of one track: `kept` of `players` advanced. `cut_line` is "" if no player was cut.

    `panel` is None while it is secret.
    """

    number: int
    samples: int
    by_median: bool
    players: int
    kept: int
    cut_line: str
    panel: Sequence[PanelOpponent] | None
    counting: int
    """The number of opponents that count."""
    loop: int
    renewed: bool


@dataclass(frozen=True)
class BracketCell:
    """The decision of a stage about one player. `matches`: those against the opponents that counted, where public."""

    place: int
    value: str
    kept: bool
    spared: bool
    inconsistent: bool
    matches: Sequence[int] = ()


@dataclass(frozen=True)
class BracketRow:
    """The stages of one player; `missing` counts the stages after its elimination."""

    name: Name
    cells: Sequence[BracketCell]
    missing: int


@dataclass(frozen=True)
class Bracket:
    """Stages from left to right, players from the first place to the last.

    `cuts` maps the key of each eliminated player to the stage and the reason, as text.
    """

    columns: Sequence[BracketStage]
    rows: Sequence[BracketRow]
    cuts: Mapping[int, str]


def bracket(
    brackets: Sequence[BracketView],
    track_name: str,
    standings: Sequence[StandingRow],
    *,
    without_first_panel: bool = False,
    matches: Mapping[tuple[int, int], int] = NO_MATCHES,
) -> Bracket:
    """Return the bracket of the track `track_name` with these `standings`.

    `without_first_panel`: hide the panel of stage 1, which follows the order of the leaderboards. `matches`: the public
    matches by their two players.
    """
    attack_track = TARGETED if track_name == TARGETED else UNTARGETED
    stages = next((each.stages for each in brackets if each.track_name == attack_track), ())
    lines = [_lines(stage, track_name) for stage in stages]
    columns = [_column(stage, track_name, decided) for stage, decided in zip(stages, lines, strict=True)]
    if without_first_panel and columns and attack_track == UNTARGETED:
        columns[0] = replace(columns[0], panel=None)
    cells = [
        {line.name.player: (line.name, _cell(line, column, matches)) for line in decided}
        for column, decided in zip(columns, lines, strict=True)
    ]
    cuts: dict[int, str] = {
        line.name.player: why(stage, line)
        for stage, decided in zip(stages, lines, strict=True)
        for line in decided
        if not line.kept
    }
    if track_name == MODEL:
        cuts |= _eliminated_by_targeted(brackets)
    rows = []
    for player in dict.fromkeys(row.player for row in standings):
        played = [stage[player] for stage in cells if player in stage]
        if played:
            rows.append(BracketRow(played[0][0], [cell for _, cell in played], len(stages) - len(played)))
    return Bracket(columns, rows, cuts)


def _eliminated_by_targeted(brackets: Sequence[BracketView]) -> Mapping[int, str]:
    """Return the models that were eliminated as inconsistent in the bracket of the targeted attacks."""
    later = (each for each in brackets if each.track_name == TARGETED)
    return {
        line.name.player: f"{why(stage, line)} (targeted attacks)"
        for each in later
        for stage in each.stages
        for line in stage.models
        if line.inconsistent
    }


def _lines(stage: StageView, track_name: str) -> Sequence[DecisionLogLine]:
    return stage.models if track_name == MODEL else stage.attacks


def _column(stage: StageView, track_name: str, lines: Sequence[DecisionLogLine]) -> BracketStage:
    against_attacks = track_name == MODEL
    panel = stage.panel_attacks if against_attacks else stage.panel_models
    counted = {name.player for name in (stage.counted_attacks if against_attacks else stage.counted_models)}
    by_median = stage.ordered_by == MEDIAN
    kept = sum(line.kept for line in lines)
    line = next((line.cut_line for line in lines), None) if kept < len(lines) else None
    return BracketStage(
        number=stage.number,
        samples=stage.samples,
        by_median=by_median,
        players=len(lines),
        kept=kept,
        cut_line=_number(line, by_median=by_median),
        panel=[PanelOpponent(name, name.player in counted) for name in panel],
        counting=len(counted),
        loop=stage.loop,
        renewed=stage.renewed,
    )


def _cell(line: DecisionLogLine, column: BracketStage, matches: Mapping[tuple[int, int], int]) -> BracketCell:
    pairs = [(line.name.player, opponent.name.player) for opponent in column.panel or () if opponent.counts]
    met = [matches[pair] for pair in pairs if pair in matches]
    value = _number(line.value, by_median=column.by_median)
    return BracketCell(line.place, value, line.kept, line.spared, line.inconsistent, met)


def _number(value: float | None, *, by_median: bool) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if by_median else f"{value:.2f}"
