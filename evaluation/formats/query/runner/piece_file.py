"""The file of a piece: the images that were scored, and the trace of its queries. A bundle holds its digest."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.formats.query.results import PieceResult

IMAGES = "perturbed"
FOUND = "found_label"
"""Names in the file, in addition to `sample` and the columns of the trace (`trace_sample`, `trace_query`, ...)."""

_FOUND_NOTHING = -1


def pack(result: PieceResult) -> bytes:
    """Return the file of a piece, an .npz: equal results give equal bytes at any time."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, column in columns_of(result).items():
            part = io.BytesIO()
            np.lib.format.write_array(part, column, allow_pickle=False)
            # an explicit ZipInfo stores no time
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue(), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def columns_of(result: PieceResult) -> dict[str, NDArray[Any]]:
    """Return what the file of a piece holds, by name."""
    found = [_FOUND_NOTHING if row.found_label is None else row.found_label for row in result.samples]
    return {
        "sample": np.array([row.sample for row in result.samples], np.uint16),
        IMAGES: np.ascontiguousarray(result.perturbed, np.uint8),
        FOUND: np.array(found, np.int16),
        "trace_sample": result.trace.sample,
        "trace_charged": result.trace.charged,
        "trace_query": result.trace.query,
        "trace_label": result.trace.label,
        "trace_distance": result.trace.distance,
    }
