"""Results as a file: a NumPy archive of per-image arrays, with a JSON text `head` that says what they are of.

The arrays are the fields of `Results` with the same names. The bytes follow from the results alone.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields
from typing import Any

import numpy as np

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm, ThreatModel

VERSION = 1
_ARRAYS = {
    "numbers": np.int64, "labels": np.int64, "targets": np.int64, "clean_labels": np.int64, "distances": np.float64,
    "tried_budgets": np.float64, "tried_found": np.bool_, "strengths": np.int64, "traces": np.float64,
    "queries": np.int64, "gradients": np.int64,
}  # fmt: skip
_TWO_AXES = ("tried_budgets", "tried_found", "traces")


def encode(results: Results) -> bytes:
    """Return the file of some results."""
    head: dict[str, Any] = {"version": VERSION}
    for field in fields(results):
        if field.name not in _ARRAYS:
            head[field.name] = getattr(results, field.name)
    head["threat_model"] = vars(results.threat_model)
    head["parameters"] = dict(results.parameters)
    arrays: dict[str, Any] = {name: np.asarray(getattr(results, name), kind) for name, kind in _ARRAYS.items()}
    file = io.BytesIO()
    np.savez_compressed(file, head=np.array(json.dumps(head, sort_keys=True)), **arrays)
    return file.getvalue()


def decode(content: bytes) -> Results:
    """Return the results of a file. Raise `Refusal` if it is no such file."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            head = json.loads(str(file["head"]))
            arrays = {name: file[name] for name in _ARRAYS}
        if head.pop("version") != VERSION:
            raise Refusal("the results are of another version", fix="run the benchmark again")
        threat = head.pop("threat_model")
        model = ThreatModel(
            Goal(threat["goal"]), Capability(threat["capability"]), Norm(threat["norm"]), Knowledge(threat["knowledge"])
        )
        _check(arrays)
        return Results(threat_model=model, **head, **arrays)
    except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise Refusal(
            f"this is no file of results: {error}", fix="name a file that gauntlet benchmark wrote"
        ) from error


def _check(arrays: dict[str, Any]) -> None:
    """Raise `ValueError` for arrays of other types or shapes."""
    count = len(arrays["numbers"])
    for name, kind in _ARRAYS.items():
        array = arrays[name]
        rows = len(array) if name == "strengths" else count
        if array.dtype != kind or array.ndim != (2 if name in _TWO_AXES else 1) or len(array) != rows:
            raise ValueError(f"{name} is {array.dtype} {array.shape}")
    if arrays["traces"].shape[1] != len(arrays["strengths"]):
        raise ValueError("traces and strengths have different lengths")
    if arrays["tried_budgets"].shape != arrays["tried_found"].shape:
        raise ValueError("tried_budgets and tried_found have different shapes")
