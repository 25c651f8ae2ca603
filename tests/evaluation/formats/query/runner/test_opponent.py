"""The model that attacks meet where no other one knows the images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import ImageShape
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from evaluation.formats.query.runner.nearest_mean_classifier import NearestMean
from evaluation.formats.query.runner.smoke_opponent import MADE_FROM, nearest_mean_opponent
from gauntlet import serve_attack


def noise(shape: tuple[int, int, int], classes: int, each: int) -> list[Sample]:
    """`each` images of every class in turn: a colour of the class, and noise. The target is the next class."""
    rng = np.random.default_rng(3)
    colours = rng.integers(40, 216, (classes, shape[2]))
    samples = []
    for number in range(classes * each):
        label = number % classes
        pixels = np.clip(colours[label] + rng.normal(0, 30, shape), 0, 255).astype(np.uint8)
        samples.append(Sample(number, pixels, label, (label + 1) % classes))
    return samples


@pytest.mark.parametrize(
    ("shape", "classes", "each"),
    [
        ((32, 32, 3), 3, 10),
        ((64, 64, 3), 200, 1),
        ((64, 64, 3), 1000, 1),
        ((299, 299, 3), 20, 1),
        ((28, 28, 1), 10, 20),
        ((5, 7, 3), 2, 1),
    ],
)
def test_it_knows_most_images_of_any_data_set(shape: tuple[int, int, int], classes: int, each: int) -> None:
    samples = noise(shape, classes, each)
    opponent = nearest_mean_opponent(samples)
    known = {sample.label for sample in opponent.samples}
    assert len(opponent.samples) > min(len(samples), MADE_FROM) / 2
    assert all(sample.target in known - {sample.label} for sample in opponent.samples)
    kept = {sample.number: sample for sample in samples}
    assert all(sample.image is kept[sample.number].image for sample in opponent.samples)


def test_a_label_depends_on_the_image_alone() -> None:
    samples = noise((64, 64, 3), 50, 2)
    model = NearestMean(samples)
    images = np.random.default_rng(1).integers(0, 256, (64, 64, 64, 3)).astype(np.uint8)
    together = model.predict(images)
    assert [int(model.predict(image[None])[0]) for image in images] == together.tolist()
    assert model.predict(images[::-1]).tolist() == together[::-1].tolist()


def test_a_target_of_which_no_image_is_known_gives_way_to_one_that_can_be_reached() -> None:
    first, second, third = noise((32, 32, 3), 3, 1)
    few = [replace(first, target=900), replace(second, target=2), replace(third, target=1)]
    assert [sample.target for sample in nearest_mean_opponent(few).samples] == [1, 2, 1]


@pytest.mark.parametrize("track", [TrackName.UNTARGETED, TrackName.TARGETED])
def test_it_can_be_broken(track: TrackName) -> None:
    samples = noise((32, 32, 3), 4, 3)
    by_label = {sample.label: sample.image.astype(float) for sample in samples}

    def attack(model, image, label, *, target, rng):  # type: ignore[no-untyped-def]
        far = 255.0 - image if target is None else by_label[target]
        for step in range(1, 11):
            model(image + (far - image) * step / 10)

    opponent = nearest_mean_opponent(samples)
    rules = QueryRules(shape=ImageShape(32, 32, 3), classes=4, query_budget=10)
    connection = InProcessPlayer(lambda connected: serve_attack(attack, connected=connected))
    match = RefereedMatch(rules=rules, track=track, model=opponent.connection, attack=connection, seed=1)
    try:
        rows = [row for piece in match.play(opponent.samples) for row in piece.samples]
    finally:
        match.close()
    assert match.failures == ()
    assert {str(row.outcome) for row in rows} == {"adversarial"}


@pytest.mark.parametrize("alike", [True, False])
def test_it_rejects_images_of_which_it_cannot_tell_two_classes(alike: bool) -> None:
    one = noise((32, 32, 3), 2, 1)[0]
    other = replace(one, number=1, label=1) if alike else replace(one, number=1, image=255 - one.image)
    with pytest.raises(DatasetRefusal, match="fewer than two classes correctly") as caught:
        nearest_mean_opponent([one, other])
    assert "smoke_opponent" in caught.value.fix
