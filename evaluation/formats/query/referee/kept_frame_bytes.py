"""Kept frames as bytes, and the result of a piece after its audit."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Images
from evaluation.formats.query.kept_frames import KeptFrame, KeptFrames, NearestAnswer
from evaluation.formats.query.results import AuditReport, Outcome, PieceResult

Place: TypeAlias = Callable[[Images], Images]
"""Returns equal images where they are to be kept."""


def in_memory(images: Images) -> Images:
    """Return the images themselves."""
    return images


def in_file(file: IO[bytes]) -> Place:
    """Return a `Place` at the end of `file`: its images are read from there when they are used, and take no memory."""

    def move(images: Images) -> Images:
        if not images.size:
            return images
        start = file.seek(0, io.SEEK_END)
        file.write(np.ascontiguousarray(images).data)
        file.flush()
        return np.asarray(np.memmap(file, np.uint8, "r", start, images.shape))

    return move


def pack(kept: KeptFrames) -> bytes:
    """Return `kept` as an .npz; equal frames give equal bytes at any time."""
    columns: dict[str, NDArray[Any]] = {
        **_frame_columns("frame", kept.frames),
        **_frame_columns("alone", kept.alone),
        "nearest_images": _stack([answer.image[np.newaxis] for answer in kept.nearest]),
        "nearest_sample": np.array([answer.sample for answer in kept.nearest], np.uint16),
        "nearest_label": np.array([answer.label for answer in kept.nearest], np.int16),
        "nearest_distance": np.array([answer.distance for answer in kept.nearest], np.float64),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, column in columns.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, column, allow_pickle=False)
            # an explicit ZipInfo stores no time
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=1)
    return file.getvalue()


def unpack(data: bytes, place: Place = in_memory) -> KeptFrames:
    """Return the kept frames that `pack` wrote, with their images in `place`. Raise `Fault` for anything else."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as columns:
            answers = zip(
                columns["nearest_sample"].tolist(),
                place(columns["nearest_images"]),
                columns["nearest_label"].tolist(),
                columns["nearest_distance"].tolist(),
                strict=True,
            )
            return KeptFrames(
                frames=_frames("frame", columns, place),
                alone=_frames("alone", columns, place),
                nearest=tuple(NearestAnswer(*answer) for answer in answers),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as failure:
        raise Fault(f"the kept frames of a piece cannot be read: {failure}") from failure


def with_audit(piece: PieceResult, report: AuditReport) -> PieceResult:
    """Return `piece` with the counts of `report` added: its final result, without kept frames.

    Where the sum does not pass, the model is inconsistent in this piece, and its first answers count: the closest
    adversarials decide, whatever the verdict said of them. `report` must complete the audit.
    """
    audit = piece.audit + report
    if audit.open:
        raise ValueError(f"{audit.fresh} of {audit.fresh_due} images were asked about again")
    if audit.passed:
        return replace(piece, audit=audit, kept=None)
    nearest = {answer.sample: answer for answer in piece.kept.nearest} if piece.kept else {}
    rows, perturbed = list(piece.samples), piece.perturbed.copy()
    for index, row in enumerate(rows):
        answer = nearest.get(row.sample)
        if answer is not None and row.outcome is not Outcome.CLEAN_WRONG:
            perturbed[index] = answer.image.reshape(perturbed[index].shape)
            row = replace(
                row, outcome=Outcome.ADVERSARIAL, distance=answer.distance, found_label=answer.label, reason=None
            )
        if row.outcome is Outcome.ADVERSARIAL:
            rows[index] = replace(row, reason=Reason.INCONSISTENT)
    return replace(piece, samples=tuple(rows), perturbed=perturbed, audit=audit, kept=None)


def _frame_columns(name: str, frames: Sequence[KeptFrame]) -> dict[str, NDArray[Any]]:
    return {
        f"{name}_images": _stack([frame.images for frame in frames]),
        f"{name}_labels": np.array([label for frame in frames for label in frame.labels], np.int16),
        f"{name}_sizes": np.array([len(frame.labels) for frame in frames], np.uint16),
        f"{name}_distance": np.array([frame.distance for frame in frames], np.float64),
    }


def _stack(images: Sequence[Images]) -> Images:
    return np.concatenate(images).astype(np.uint8, copy=False) if images else np.empty((0, 0), np.uint8)


def _frames(name: str, columns: Any, place: Place) -> tuple[KeptFrame, ...]:
    images, labels, sizes, distances = (
        columns[f"{name}_{column}"] for column in ("images", "labels", "sizes", "distance")
    )
    if not len(images) == len(labels) == sizes.sum(dtype=int):
        raise ValueError(f"{len(images)} images and {len(labels)} labels in {name}")
    images = place(images)
    ends = np.cumsum(sizes, dtype=int).tolist()
    return tuple(
        KeptFrame(images[end - size : end], tuple(labels[end - size : end].tolist()), distance)
        for end, size, distance in zip(ends, sizes.tolist(), distances.tolist(), strict=True)
    )
