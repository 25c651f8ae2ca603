"""The samples of a round: the secret draw, the public commitment, and images that are new to everybody."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from competitions import sample_store
from competitions.models import Competition, SampleSet
from competitions.sample_draw import draw_samples, keep_draw
from competitions.sample_set_selectors import imported_sets, sample_set_for
from competitions.sample_store import draw, sample_hashes, samples_of, worst_cases
from competitions.services import export_competition, import_competition
from core.errors import Refusal

SALT = "5a1t" * 16

KeepSet = Callable[..., SampleSet]


def drawn_set(source: SampleSet, count: int, name: str) -> SampleSet:
    return keep_draw(draw_samples(source=source, count=count, salt=SALT), name=name)


def test_the_order_of_a_draw_never_changes_and_samples_keep_labels_and_targets(source: SampleSet) -> None:
    drawn = drawn_set(source, 8, "round-1")
    assert (drawn.drawn_from, drawn.count, drawn.purpose, drawn.name) == (source, 8, "test", "round-1")
    before, after = samples_of(source), samples_of(drawn)
    # this order must never change: every published commitment depends on it
    order = [4, 10, 6, 9, 8, 7, 3, 11]
    assert [sample.number for sample in after] == list(range(8))
    for number, sample in zip(order, after, strict=True):
        assert np.array_equal(sample.image, before[number].image)
        assert (sample.label, sample.target) == (before[number].label, before[number].target)
    assert worst_cases(drawn) == tuple(worst_cases(source)[number] for number in order)


def test_its_order_depends_only_on_the_salt(source: SampleSet) -> None:
    digests = [draw_samples(source=source, count=12, salt=salt).sample_set.digest for salt in (SALT, SALT, "other")]
    assert digests[0] == digests[1] != digests[2]


def test_a_sample_is_hashed_with_the_salt_its_label_and_its_target(source: SampleSet) -> None:
    first = samples_of(source)[0]
    numbers = np.array([first.label, first.target], ">i4").tobytes()
    expected = hashlib.sha256(SALT.encode() + b"\0" + numbers + first.image.tobytes()).hexdigest()
    hashes = sample_hashes(source, SALT)
    assert (hashes[0], len(set(hashes))) == (expected, 12)
    assert not set(hashes) & set(sample_hashes(source, "other"))


def test_a_draw_needs_memory_for_its_images_once(keep_set: KeepSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a final of 2017 are 1.3 GB; the images of other sets are compared without keeping them."""
    source = keep_set("large", "final", count=300)
    keep_set("seen", "validation", "validation", count=200)
    monkeypatch.setattr(sample_store, "_IN_MEMORY", 1 << 16)
    sample_store._unpack.cache_clear()
    tracemalloc.start()
    draw_samples(source=source, count=300, salt=SALT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * sum(sample.image.nbytes for sample in samples_of(source))


def test_the_commitment_is_to_all_hashes_in_their_order(source: SampleSet) -> None:
    drawn = draw_samples(source=source, count=8, salt=SALT)
    listed = json.dumps(list(sample_hashes(drawn.sample_set, SALT))).replace(" ", "")
    assert drawn.commitment == hashlib.sha256(listed.encode()).hexdigest()


@pytest.mark.parametrize("count", [0, 13])
def test_it_rejects_more_samples_than_there_are(source: SampleSet, count: int) -> None:
    with pytest.raises(Refusal, match=f"has 12 samples, not {count}") as refused:
        draw_samples(source=source, count=count, salt=SALT)
    assert refused.value.fix == "choose 1 to 12 samples"


@pytest.mark.parametrize("purpose", ["development", "validation"])
def test_it_rejects_samples_for_another_purpose(keep_set: KeepSet, purpose: str) -> None:
    with pytest.raises(Refusal, match=f"is for {purpose}"):
        draw_samples(source=keep_set("public", "dev", purpose), count=5, salt=SALT)


def test_it_rejects_a_set_that_holds_a_sample_twice(source: SampleSet) -> None:
    source.digest, source.count = draw(source, [0, 1, 0]), 3
    source.save()
    with pytest.raises(Refusal, match="contains a sample twice"):
        draw_samples(source=source, count=3, salt=SALT)


def test_it_rejects_a_set_that_was_drawn_itself_and_a_name_that_is_taken(source: SampleSet) -> None:
    drawn = drawn_set(source, 8, "round-1")
    with pytest.raises(Refusal, match="was drawn for a round"):
        drawn_set(drawn, 5, "round-2")
    with pytest.raises(Refusal, match="already has a sample set 'round-1'"):
        drawn_set(source, 8, "round-1")


@pytest.mark.parametrize("purpose", ["development", "validation"])
def test_it_rejects_images_that_are_not_secret(source: SampleSet, keep_set: KeepSet, purpose: str) -> None:
    keep_set("seen", "test-1", purpose, count=1)
    with pytest.raises(Refusal, match="test-1 shares images with digits/seen, which"):
        drawn_set(source, 5, "round-1")


def test_it_rejects_images_of_a_set_that_was_drawn_from(source: SampleSet, keep_set: KeepSet) -> None:
    other = keep_set("test-2", "test-1", count=3)
    drawn_set(source, 5, "round-1")
    with pytest.raises(Refusal, match="test-2 shares images with digits/test-1"):
        drawn_set(other, 3, "round-2")


def test_of_two_overlapping_sets_drawn_concurrently_one_is_kept(source: SampleSet, keep_set: KeepSet) -> None:
    draws = [draw_samples(source=each, count=3, salt=SALT) for each in (source, keep_set("test-2", "test-1", count=3))]
    keep_draw(draws[0], name="round-1")
    with pytest.raises(Refusal, match="test-2 shares images with digits/test-1"):
        keep_draw(draws[1], name="round-2")


def test_a_drawn_set_is_in_no_file_and_in_no_list(
    competition: Competition, keep_set: KeepSet, source: SampleSet
) -> None:
    for purpose, split in (("development", "dev"), ("validation", "validation")):
        keep_set(purpose, split, purpose)
    written = export_competition(competition)
    drawn = drawn_set(source, 8, "round-1")
    assert export_competition(competition) == written
    assert drawn not in imported_sets(competition)
    assert sample_set_for(competition, "test") == source
    assert import_competition(written) == competition
    written["sample_sets"].append(written["sample_sets"][0] | {"name": "round-1"})
    with pytest.raises(Refusal, match="a set of a round has this name"):
        import_competition(written)
