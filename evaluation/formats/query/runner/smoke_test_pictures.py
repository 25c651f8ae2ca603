"""The pictures of a smoke test of the query format."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.domain.samples import Sample
from evaluation.domain.smoke_test_pictures import PicturedSmokeSample, bounded
from evaluation.formats.query.referee.query_paths import QueryPaths
from evaluation.formats.query.results import Outcome, PieceResult
from evaluation.scoring.distances import l2


def pictured(
    samples: Sequence[Sample], pieces: Sequence[PieceResult], paths: QueryPaths, *, attacked_only: bool = False
) -> tuple[PicturedSmokeSample, ...]:
    """Return the first `samples` of a match with what became of them; none where the model answered nothing.

    `attacked_only`: without those whose clean image the model gets wrong, which an attack is not given.
    """
    if not any(label >= 0 for label in paths.clean_labels.values()):
        return ()
    by_number = {sample.number: sample for sample in samples}
    found = []
    for piece in pieces:
        for row, image in zip(piece.samples, piece.perturbed, strict=True):
            if attacked_only and row.outcome is Outcome.CLEAN_WRONG:
                continue
            clean = by_number[row.sample].image
            adversarial = row.outcome is Outcome.ADVERSARIAL
            found.append(
                PicturedSmokeSample(
                    label=row.label,
                    target=row.target,
                    clean=clean,
                    clean_label=paths.clean_labels.get(row.sample),
                    perturbed=image if adversarial else None,
                    found=row.found_label,
                    # that of the image that is shown: the score's is at most that of grey
                    distance=l2(clean, image) if adversarial else None,
                    queries=row.queries,
                    path=paths.of(row.sample),
                )
            )
    return bounded(found)
