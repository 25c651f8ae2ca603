"""How far each entry of the demo is: as a table that is redrawn in place, or as lines about what has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from demo.submission_result import DemoResult
from submissions.models import Submission

NOT_PUSHED, PLAYING, SCORED, VOID, REJECTED = "not pushed", "playing", "scored", "void", "rejected"

_STATES: Mapping[str, str] = {
    Submission.State.RECEIVED: "queued",
    Submission.State.BUILDING: "building",
    Submission.State.CHECKING: "smoke test",
    Submission.State.READY: PLAYING,
    Submission.State.REJECTED: REJECTED,
    Submission.State.WITHDRAWN: "withdrawn",
}
_STYLES: Mapping[str, str] = {NOT_PUSHED: "dim", "queued": "dim", SCORED: "green", VOID: "red", REJECTED: "red"}


@dataclass(frozen=True)
class EntryProgress:
    """An entry of a team in a track. `done` of `total` matches are played; both are 0 where that is not known."""

    team: str
    track: str
    state: str = NOT_PUSHED
    done: int = 0
    total: int = 0
    score: str = ""
    rank: int | None = None

    @property
    def ended(self) -> bool:
        """Return whether nothing more is to come."""
        return self.state in {SCORED, VOID, REJECTED, _STATES[Submission.State.WITHDRAWN]}

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the entry's row: team, track, state, score, rank."""
        state = f"{self.state}, {self.done} of {self.total} matches" if self.total else self.state
        return self.team, self.track, state, self.score, str(self.rank or "")


def entry_progress(
    team: str, track: str, state: str, result: DemoResult | None, played: tuple[int, int]
) -> EntryProgress:
    """Return how far a submission in `state` is, with its result if there is one, and its matches: played, in all.

    One with a result and matches is measured again, against more opponents.
    """
    shown = _STATES[state]
    if shown != PLAYING:
        return EntryProgress(team, track, shown)
    done, total = played
    if result is None:
        return EntryProgress(team, track, PLAYING, done, total)
    if not total:
        shown = SCORED if result.scored else VOID
    return EntryProgress(team, track, shown, done, total, result.score if result.scored else "", result.rank)


def progress_table(entries: Sequence[EntryProgress], time: str) -> Table:
    """Return the table of all entries; its title says for how long the demo has run and how many have ended."""
    ended = sum(entry.ended for entry in entries)
    table = Table(
        title=f"{time.strip()}  {ended} of {len(entries)} entries done", title_justify="left", show_edge=False
    )
    for name in ("team", "track", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("score", "rank"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in entries:
        table.add_row(*entry.cells, style=_STYLES.get(entry.state, ""))
    return table


def changes(before: Sequence[EntryProgress], after: Sequence[EntryProgress]) -> Iterator[str]:
    """Yield a line for each entry that is in another state than before, unless a push or a result has said so."""
    known = {(entry.team, entry.track): entry.state for entry in before}
    for entry in after:
        if entry.state in {"building", "smoke test", PLAYING} and known.get((entry.team, entry.track)) != entry.state:
            yield f"{entry.team}, {entry.track}: {entry.state}"
