"""The pictures of a smoke test: the first samples that were attacked, each with the path of the attack."""

from __future__ import annotations

import numpy as np

from evaluation.domain.images import ImageShape
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.domain.smoke_test_pictures import PICTURED, PicturedSmokeSample
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.referee.query_paths import STEPS, QueryPaths
from evaluation.formats.query.referee.query_record import QueryRecord
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from evaluation.formats.query.runner.smoke_test_pictures import pictured
from gauntlet import serve_attack, serve_model

SHAPE = ImageShape(4, 4, 3)
SAMPLES = [Sample(number, np.full(SHAPE, 40 + number, np.uint8), 1 if number == 2 else 0) for number in range(10)]
"""Dark images; the model is wrong on sample 2."""


def bright(images):  # type: ignore[no-untyped-def]
    return (images.mean(axis=(1, 2, 3)) > 100).astype(np.int64)


def fade(model, image, label, *, target, rng):  # type: ignore[no-untyped-def]
    model(image)
    for level in range(255, 60, -1):
        model(np.full(image.shape, level))


def played(attack=fade, *, attacked_only: bool) -> tuple[PicturedSmokeSample, ...]:  # type: ignore[no-untyped-def]
    paths = QueryPaths(PICTURED, SHAPE)
    match = RefereedMatch(
        rules=QueryRules(shape=SHAPE, classes=2, query_budget=200, piece_samples=4),
        track=TrackName.UNTARGETED,
        model=InProcessPlayer(lambda connected: serve_model(bright, connected=connected)),
        attack=InProcessPlayer(lambda connected: serve_attack(attack, connected=connected)),
        seed=1,
        fresh_audit=False,
        paths=paths,
    )
    try:
        pieces = list(match.play(SAMPLES))
    finally:
        match.close()
    return pictured(SAMPLES, pieces, paths, attacked_only=attacked_only)


def test_the_path_has_the_queries_that_came_closer_and_ends_with_the_scored_image() -> None:
    first, *others = played(attacked_only=True)
    assert len(first.path) == STEPS
    assert first.path[0].query == 2  # the first one is the clean image
    distances = [step.distance for step in first.path]
    assert distances == sorted(distances, reverse=True)
    last = first.path[-1]
    assert last.image is not None
    assert first.perturbed is not None
    assert (last.image == 101).all()
    assert (first.perturbed == last.image).all()
    assert first.distance == last.distance
    assert (first.label, first.clean_label, first.found) == (0, 0, 1)
    assert len(others) == PICTURED - 1
    assert all(len(each.path) == STEPS for each in others)


def test_the_distance_of_an_image_beyond_grey_is_that_of_the_end_of_its_path() -> None:
    found = played(lambda model, image, label, *, target, rng: model(np.full(image.shape, 255)), attacked_only=True)
    assert [each.distance for each in found] == [each.path[-1].distance for each in found]


def test_a_path_numbers_the_queries_of_its_sample_whichever_sample_pays() -> None:
    paths = QueryPaths(2, SHAPE)
    paths.follow([0, 1])
    record = QueryRecord(SAMPLES[:2], TrackName.UNTARGETED, 200, paths)
    images = np.zeros((3, *SHAPE), np.uint8)
    record.add([0, 0, 0], [0, 1, 0], [7, 1, 8], images, [1, 1, 1], [9.0, 4.0, 1.0])
    assert [step.query for step in paths.of(0)] == [1, 2, 3]


def test_an_attack_sees_only_what_it_was_given_and_a_model_also_what_it_gets_wrong() -> None:
    assert [each.label for each in played(attacked_only=True)] == [0] * PICTURED
    wrong = played(attacked_only=False)[2]
    assert (wrong.label, wrong.clean_label, wrong.perturbed, wrong.path) == (1, 0, None, ())


def test_an_attack_that_finds_nothing_has_clean_images() -> None:
    found = played(lambda model, image, label, *, target, rng: model(image), attacked_only=True)
    assert [(each.perturbed, each.distance, each.queries) for each in found] == [(None, None, 1)] * PICTURED
