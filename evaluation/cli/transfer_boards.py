"""Leaderboards and notes of a match of the transfer format, for people."""

from __future__ import annotations

from evaluation.cli.output import print_table
from evaluation.domain.transfer_results import ImageNote, PairCounts
from evaluation.domain.transfer_rules import TransferTrack
from evaluation.scoring.transfer import TransferStanding, standings
from evaluation.transfer.result import TransferResult

_TITLES = {
    TransferTrack.ATTACK: "Attacks",
    TransferTrack.TARGETED_ATTACK: "Targeted attacks",
    TransferTrack.DEFENCE: "Defences",
}
_COLUMNS = ("rank", "name", "score", "raw score", "worst score", "coverage", "opponents", "median seconds")


def show(result: TransferResult) -> None:
    """Print a leaderboard of each track, like tables 1 to 3 of the paper, and a matrix for each epsilon."""
    for track, title in _TITLES.items():
        rows = standings(result.pairs(), track, opponents=result.rules.opponents, seconds=result.seconds())
        if rows:
            print_table(title, _COLUMNS, [_row(row) for row in rows], text=(1,))
    for epsilon in result.epsilons:
        images = sum(len(batch.samples) for batch in result.batches if batch.epsilon == epsilon)
        pairs = {(pair.attack, pair.defence): pair for pair in result.pairs(epsilon)}
        matrix = [
            (attack.name, *(_accuracy(pairs[attack.name, defence.name]) for defence in result.defences))
            for attack in result.attacks
        ]
        columns = ("attack", *(defence.name for defence in result.defences))
        print_table(f"Right labels at epsilon {epsilon}, {images} images", columns, matrix, text=(0,))


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


def _row(row: TransferStanding) -> tuple[str, ...]:
    return (
        str(row.rank),
        row.name,
        _score(row.score),
        f"{row.raw:,}",
        _score(row.worst),
        f"{row.coverage:.1%}",
        str(row.opponents),
        "-" if row.median_seconds is None else f"{row.median_seconds:.1f}",
    )


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _accuracy(pair: PairCounts) -> str:
    share = f"{pair.correct / pair.labelled:.0%}" if pair.labelled else "-"
    missing = pair.images - pair.labelled
    return f"{share} ({missing} missing)" if missing else share


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
