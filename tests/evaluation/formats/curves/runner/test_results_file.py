from __future__ import annotations

import io
import math

import numpy as np
import pytest

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.runner.results_file import decode, encode
from tests.evaluation.formats.curves.results_of import results_of

RESULTS = results_of(
    [0.0, 0.1, math.inf], right=[False, True, True], tried=[[(math.nan, False)], [(0.1, True)], [(1, False)]]
)


def as_text(results: Results) -> dict[str, str]:
    return {name: repr(value) for name, value in vars(results).items()}


def test_a_file_holds_everything_and_follows_from_the_results_alone() -> None:
    assert as_text(decode(encode(RESULTS))) == as_text(RESULTS)
    assert encode(RESULTS) == encode(decode(encode(RESULTS)))


@pytest.mark.parametrize("name", ["numbers", "traces", "tried_found", "strengths"])
@pytest.mark.parametrize("wrong", [np.zeros((2, 2, 2)), np.zeros(7, np.int8), np.array(["text"])])
def test_a_file_with_a_wrong_array_is_refused(name: str, wrong: np.ndarray) -> None:
    with np.load(io.BytesIO(encode(RESULTS))) as file:
        arrays = dict(file) | {name: wrong}
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    with pytest.raises(Refusal, match="no file of results"):
        decode(changed.getvalue())


@pytest.mark.parametrize("content", [b"", b"text", encode(RESULTS)[:-200], b"PK\x03\x04" + bytes(99)])
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(Refusal, match="no file of results"):
        decode(content)


def test_objects_are_not_unpickled() -> None:
    with np.load(io.BytesIO(encode(RESULTS))) as file:
        arrays = dict(file) | {"numbers": np.array([print], object)}
    changed = io.BytesIO()
    np.savez(changed, allow_pickle=True, **arrays)
    with pytest.raises(Refusal, match="no file of results"):
        decode(changed.getvalue())
