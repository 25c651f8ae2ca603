"""Notes and warnings of an import, and the parts of a split that sample sets use."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demo
from competitions.import_warnings import import_notes
from competitions.models import Competition
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


def test_it_warns_of_public_images_in_a_secret_set(db: None, document: dict[str, Any]) -> None:
    name = document["sample_sets"][1]["name"]
    assert any(f"Warning: {name} shares images with" in note for note in import_notes(import_competition(document)))


def test_a_set_can_skip_the_images_of_another_set(db: None, document: dict[str, Any]) -> None:
    document["sample_sets"][1]["skip"] = 20
    made = import_competition(document)
    assert not any("shares images" in note for note in import_notes(made))
    assert export_competition(made) == document
    expected = load_dataset("digits").samples("dev", 40)[20:]
    kept = samples_of(made.sample_sets.get(purpose="validation"))
    assert [sample.number for sample in kept] == list(range(20))
    assert all(np.array_equal(a.image, b.image) and a.label == b.label for a, b in zip(kept, expected, strict=True))


def test_a_second_import_does_not_change_a_set(db: None, document: dict[str, Any]) -> None:
    import_competition(document)
    document["sample_sets"][1]["skip"] = 20
    with pytest.raises(Refusal, match="an imported set cannot be changed"):
        import_competition(document)


@pytest.mark.parametrize(("skip", "count", "named"), [(90, 20, "has 97"), (0, 65_537, "65,536"), (-1, 5, "skip")])
def test_it_rejects_invalid_skips_and_counts(
    db: None, document: dict[str, Any], skip: int, count: int, named: str
) -> None:
    document["sample_sets"][1] |= {"skip": skip, "count": count}
    with pytest.raises(Refusal) as caught:
        import_competition(document)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("baselines", "warned"),
    [
        (
            ["compact-plain", "compact-robust"],
            "33.3% of the images right on average (compact-plain 35.9%, compact-robust",
        ),
        (["efficientnet-lite0", "compact-plain"], "47.6% of the images right on average (efficientnet-lite0 59.3%"),
        (["efficientnet-lite0", "efficientnet-lite1"], ""),
        (["numpy-classifier"], ""),
    ],
)
def test_it_warns_of_a_first_pool_that_cannot_separate_attacks(
    db: None, document: dict[str, Any], baselines: list[str], warned: str
) -> None:
    document["tracks"]["model"]["baselines"] = baselines
    made = import_competition(document)
    made.sample_sets.update(source="tiny-imagenet")
    found = [note for note in import_notes(made) if "cannot separate untargeted attacks" in note]
    assert [warned in note for note in found] == ([True] if warned else [])


def test_it_warns_of_images_that_are_secret_in_another_competition(db: None, document: dict[str, Any]) -> None:
    """A copy has the same parts of another secret order, so its public images are secret ones of the original."""
    for number, row in enumerate(document["sample_sets"]):
        row |= {"split": "validation", "order": "secret", "skip": 100 * number, "count": 100}
    original = import_competition(document)
    assert not any("shares images" in note for note in import_notes(original))
    secret = document["sample_sets"][1]["name"]
    document["competition"]["slug"] = "copy"
    notes = [note for note in import_notes(import_competition(document)) if "shares images" in note]
    assert [note.split(",")[0] for note in notes] == [
        f"Warning: copy/{secret} shares images with digits/development",
        f"Warning: digits/{secret} shares images with copy/development",
    ]
    Competition.objects.filter(pk=original.pk).update(archived_at=original.starts_at)
    assert not any("shares images" in note for note in import_notes(Competition.objects.get(slug="copy")))
