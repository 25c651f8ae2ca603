"""A new validation set, drawn from unused images of the same split."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from competitions.models import Competition, RulesVersion, SampleSet
from competitions.sample_draw import draw_samples
from competitions.sample_set_selectors import described_sets, sample_set_for
from competitions.sample_store import image_hashes, keep_further_samples, keep_samples, samples_of
from competitions.services import export_competition, import_competition
from competitions.validation_set_renewal import draw_validation_set, keep_validation_set
from core.errors import Refusal
from core.models import Event
from evaluation.formats.query.rules import QueryRules

KeepSet = Callable[..., SampleSet]


def renewed(competition: Competition) -> SampleSet:
    return keep_validation_set(draw_validation_set(competition))


def test_a_new_set_of_unused_images_replaces_the_one_in_use(competition: Competition, keep_set: KeepSet) -> None:
    before = keep_set("validation", "validation", "validation", 20)
    after = renewed(competition)
    assert (after.name, after.purpose, after.split, after.count) == ("validation-2", "validation", "validation", 20)
    assert after.replaces == before
    assert sample_set_for(competition, "validation") == after
    assert len(image_hashes(after)) == 20
    assert not image_hashes(after) & image_hashes(before)
    assert [sample.number for sample in samples_of(after)] == list(range(20))
    assert all(sample.target not in (None, sample.label) for sample in samples_of(after))
    assert Event.objects.get(verb="draw").subject == f"sampleset:{after.pk}"
    third = renewed(competition)
    assert (third.name, third.replaces) == ("validation-3", after)


def test_the_digits_split_is_enough_for_nine_more_sets_of_twenty(competition: Competition, keep_set: KeepSet) -> None:
    seen = set(image_hashes(keep_set("validation", "validation", "validation", 20)))
    for _ in range(9):
        images = image_hashes(renewed(competition))
        assert len(images) == 20
        assert not images & seen
        seen |= images
    with pytest.raises(Refusal, match="has only 0 images outside all sample sets, but 20 are needed") as refused:
        draw_validation_set(competition)
    assert refused.value.fix == "add images to the split, or import another validation set"


def test_no_image_of_an_existing_set_is_drawn(competition: Competition, keep_set: KeepSet) -> None:
    keep_set("validation", "validation", "validation", 100)
    other = keep_set("everything", "validation", "development", 198)  # of the same split, and public elsewhere
    other.competition = Competition.objects.create(
        slug="other",
        title="Other",
        starts_at=competition.starts_at,
        ends_at=competition.ends_at,
        created_at=competition.created_at,
    )
    other.save()
    with pytest.raises(Refusal, match="has only 2 images outside all sample sets, but 100 are needed"):
        draw_validation_set(competition)


def test_the_draw_is_not_predictable(competition: Competition, keep_set: KeepSet) -> None:
    keep_set("validation", "validation", "validation", 6)
    drawn = [draw_validation_set(competition).sample_set for _ in range(2)]
    assert drawn[0].digest != drawn[1].digest
    assert drawn[0].target_seed != drawn[1].target_seed


def test_no_round_is_drawn_from_a_set_that_shares_its_images(competition: Competition, keep_set: KeepSet) -> None:
    keep_set("validation", "validation", "validation", 20)
    renewed(competition)
    late = keep_set("test", "validation", "test", 200)
    with pytest.raises(Refusal, match="which are no longer secret"):
        draw_samples(source=late, count=10, salt="salt")


def test_a_set_that_was_imported_since_the_draw_is_in_force(competition: Competition, keep_set: KeepSet) -> None:
    keep_set("validation", "validation", "validation", 20)
    drawn = draw_validation_set(competition)
    imported = keep_set("better", "test-1", "validation", 20)
    with pytest.raises(Refusal, match="better came into force in the meantime"):
        keep_validation_set(drawn)
    assert sample_set_for(competition, "validation") == imported


def test_it_rejects_images_of_a_set_imported_since_the_draw(competition: Competition, keep_set: KeepSet) -> None:
    keep_set("validation", "validation", "validation", 20)
    drawn = draw_validation_set(competition)
    keep_set("all", "validation", "test", 200)
    with pytest.raises(Refusal, match="digits/all was imported in the meantime and shares images with it"):
        keep_validation_set(drawn)


def test_it_rejects_a_data_set_that_is_not_on_this_host(
    competition: Competition, rules: RulesVersion, tmp_path: Path
) -> None:
    folder = tmp_path / "images"
    for number in range(20):
        path = folder / f"class-{number % 10}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((64, 64, 3), number, np.uint8)).save(path)
    source = f"folder:{folder}"
    engine = rules.rules_as(QueryRules)
    digest, names = keep_samples(source=source, split="all", count=5, target_seed=1, rules=engine)
    SampleSet.objects.create(
        competition=competition,
        name="validation",
        purpose="validation",
        source=source,
        split="all",
        count=5,
        target_seed=1,
        digest=digest,
        class_names=list(names),
        imported_at=competition.created_at,
    )
    assert renewed(competition).count == 5
    shutil.rmtree(folder)
    with pytest.raises(Refusal, match="is not a folder"):
        draw_validation_set(competition)


def test_an_image_that_lies_in_two_classes_has_the_label_of_the_first_in_every_set(
    rules: RulesVersion, tmp_path: Path
) -> None:
    folder = tmp_path / "images"
    for label in range(10):
        (folder / f"class-{label}").mkdir(parents=True)
        for name, number in (("own", label), ("that of the class before", label - 1)):
            pixels = np.full((64, 64, 3), number % 10, np.uint8)
            Image.fromarray(pixels).save(folder / f"class-{label}" / f"{name}.png")
    part: dict[str, Any] = {"source": f"folder:{folder}", "split": "all", "count": 10, "target_seed": 1}
    engine = rules.rules_as(QueryRules)
    shuffled, _ = keep_samples(**part, rules=engine, salt="salt")
    further = keep_further_samples(**part, rules=engine, known=())
    for digest in (shuffled, further):
        samples = samples_of(SampleSet(digest=digest))
        assert {int(sample.image[0, 0, 0]): sample.label for sample in samples} == {n: n for n in range(10)}


def test_an_export_contains_only_imported_sets(competition: Competition, keep_set: KeepSet) -> None:
    keep_set("development", "dev", "development")
    keep_set("validation", "validation", "validation")
    written = export_competition(competition)
    renewed(competition)
    assert export_competition(competition) == written
    import_competition(written)
    assert sample_set_for(competition, "validation").name == "validation-2"
    assert [row.name for row in described_sets(competition)] == ["development", "validation"]
    written["sample_sets"].append({**written["sample_sets"][-1], "name": "validation-2"})
    with pytest.raises(Refusal, match="a validation set drawn by the site has this name"):
        import_competition(written)


def test_the_setting_is_exported_and_imported(competition: Competition, keep_set: KeepSet) -> None:
    keep_set("development", "dev", "development")
    keep_set("validation", "validation", "validation")
    assert competition.new_validation_set
    assert "new_validation_set" not in export_competition(competition)["competition"]
    written = export_competition(competition)
    written["competition"]["new_validation_set"] = False
    again = import_competition(written)
    assert not again.new_validation_set
    assert export_competition(again)["competition"]["new_validation_set"] is False
