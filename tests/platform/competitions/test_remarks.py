"""What an import tells organisers of the competition, and the parts of a split that its sets take."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demo
from competitions.import_warnings import remarks
from competitions.sample_store import samples_of
from competitions.services import export_competition, import_competition
from core.errors import Refusal
from evaluation.datasets.load import load_dataset


@pytest.fixture
def document() -> dict[str, Any]:
    """The demo's competition, whose development and validation sets are 20 images of the same split."""
    read = tomllib.loads(Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8"))
    validation = next(row for row in read["sample_sets"] if row["purpose"] == "validation")
    validation |= {"split": "dev", "count": 20}
    read["sample_sets"] = [next(row for row in read["sample_sets"] if row["purpose"] == "development"), validation]
    return read


def test_public_images_in_a_secret_set_are_warned_of(db: None, document: dict[str, Any]) -> None:
    name = document["sample_sets"][1]["name"]
    assert any(f"Warning: {name} shares images with" in remark for remark in remarks(import_competition(document)))


def test_a_set_may_skip_what_another_one_holds(db: None, document: dict[str, Any]) -> None:
    document["sample_sets"][1]["skip"] = 20
    made = import_competition(document)
    assert not any("shares images" in remark for remark in remarks(made))
    assert export_competition(made) == document
    wanted = load_dataset("digits").samples("dev", 40)[20:]
    kept = samples_of(made.sample_sets.get(purpose="validation"))
    assert [sample.number for sample in kept] == list(range(20))
    assert all(np.array_equal(a.image, b.image) and a.label == b.label for a, b in zip(kept, wanted, strict=True))


def test_a_further_import_does_not_move_a_set(db: None, document: dict[str, Any]) -> None:
    import_competition(document)
    document["sample_sets"][1]["skip"] = 20
    with pytest.raises(Refusal, match="imported sets never change"):
        import_competition(document)


@pytest.mark.parametrize(("skip", "count", "named"), [(90, 20, "holds 97"), (0, 65_537, "65,536"), (-1, 5, "skip")])
def test_it_rejects_more_than_there_is_or_than_can_be_played(
    db: None, document: dict[str, Any], skip: int, count: int, named: str
) -> None:
    document["sample_sets"][1] |= {"skip": skip, "count": count}
    with pytest.raises(Refusal) as caught:
        import_competition(document)
    assert named in str(caught.value)
