"""What failed or was odd in a match of the transfer format, as sentences."""

from __future__ import annotations

from evaluation.formats.transfer.results import ImageNote
from evaluation.formats.transfer.runner.match_result import TransferResult


def problems(result: TransferResult) -> list[tuple[str, str]]:
    """Return the name of each submission that failed on a batch or wrote something odd, with a sentence."""
    found = []
    for made in result.made:
        where = f"batch {made.batch}, epsilon {made.epsilon}"
        if made.run.reason:
            found.append((made.attack, f"{where}: {made.run}"))
        found += [
            (made.attack, f"{where}: {_counted(made.count(note), 'image')}: {note.text}")
            for note in ImageNote
            if note is not ImageNote.CLIPPED and made.count(note)
        ]
    for labels in result.labelled:
        where = f"batch {labels.batch} of {labels.attack}"
        if labels.run.reason:
            found.append((labels.defence, f"{where}: {labels.run}"))
        found += [
            (labels.defence, f"{where}: {_counted(count, 'row')}: {note.text}") for note, count in labels.rows.items()
        ]
    return found


def any_failed(result: TransferResult) -> bool:
    """Return True if a submission failed on a batch, rather than writing something odd."""
    runs = [*(made.run for made in result.made), *(labels.run for labels in result.labelled)]
    return any(run.reason is not None for run in runs)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
