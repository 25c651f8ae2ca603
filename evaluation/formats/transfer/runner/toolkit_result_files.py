"""Result files of the toolkit of 2017: the same names, columns, order and bytes. Pure.

Their scores are the toolkit's own counts, not those of the competition: an image that an attack did not make, or a
defence did not label, counts for the attack.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from io import StringIO

from evaluation.formats.transfer.results import PairCounts

ALL_CLASSIFICATION = "all_classification.csv"
ALL_CLASSIFICATION_COLUMNS = (
    "AttackName", "IsTargeted", "DefenseName", "ImageId", "PredictedLabel", "TrueLabel", "TargetClass",
)  # fmt: skip


def toolkit_files(
    pairs: Sequence[PairCounts], *, attacks: Sequence[str], targeted: Sequence[str], defences: Sequence[str]
) -> dict[str, bytes]:
    """Return the content of each file by its name. The names of submissions are in the order of rows and columns.

    The toolkit had them in the order of the directory listing, which is none; equal scores come in the reverse order,
    as there.
    """
    found = {(pair.attack, pair.defence): pair for pair in pairs}

    def counts(rows: Sequence[str], count: Callable[[PairCounts], int]) -> list[list[int]]:
        return [[count(found[row, defence]) for defence in defences] for row in rows]

    correct = counts(attacks, lambda pair: pair.correct)
    targeted_correct = counts(targeted, lambda pair: pair.correct)
    hits = counts(targeted, lambda pair: pair.hits)
    images = pairs[0].images if pairs else 0
    defended = [sum(row[index] for row in correct + targeted_correct) for index in range(len(defences))]
    fooled = [images * len(defences) - sum(row) for row in correct]
    return {
        "accuracy_on_attacks.csv": _matrix(attacks, defences, correct),
        "accuracy_on_targeted_attacks.csv": _matrix(targeted, defences, targeted_correct),
        "hit_target_class.csv": _matrix(targeted, defences, hits),
        "defense_ranking.csv": _ranking("DefenseName", defences, defended),
        "attack_ranking.csv": _ranking("AttackName", attacks, fooled),
        "targeted_attack_ranking.csv": _ranking("AttackName", targeted, [sum(row) for row in hits]),
    }


def csv_bytes(rows: Sequence[Sequence[object]]) -> bytes:
    """Return `rows` as Python's csv module writes them, with its \\\\r\\\\n."""
    text = StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _matrix(rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[int]]) -> bytes:
    """Return a matrix as numpy.savetxt writes it: names are not quoted, lines end with \\\\n."""
    lines = [["", *columns], *([name, *map(str, line)] for name, line in zip(rows, values, strict=True))]
    return "".join(",".join(line) + "\n" for line in lines).encode()


def _ranking(header: str, names: Sequence[str], scores: Sequence[int]) -> bytes:
    order = sorted(range(len(names)), key=lambda index: scores[index])[::-1]
    return csv_bytes([(header, "Score"), *((names[index], scores[index]) for index in order)])
