"""foolbox's attacks against the handle of an attack."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from eagerpy.astensor import astensor
from foolbox.attacks.boundary_attack import BoundaryAttack
from foolbox.attacks.saltandpepper import SaltAndPepperNoiseAttack

from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.results import Outcome
from gauntlet.foolbox_adapter import FoolboxModel


def in_foolbox(image: Any) -> Any:
    return astensor(image[None].astype(np.float32) / 255)


def boundary(model: Any, image: Any, label: int, *, target: int | None, rng: Any) -> Any:
    """The boundary attack, walking from white."""
    attack = BoundaryAttack(steps=10_000, tensorboard=False)
    start = astensor(np.ones((1, *image.shape), np.float32))
    attack.run(FoolboxModel(model), in_foolbox(image), astensor(np.array([label])), starting_points=start)


def salt_and_pepper(model: Any, image: Any, label: int, *, target: int | None, rng: Any) -> Any:
    attack = SaltAndPepperNoiseAttack(steps=20, across_channels=True)
    found = attack.run(FoolboxModel(model), in_foolbox(image), astensor(np.array([label])))
    return found.numpy()[0] * 255


def dark(game: Any) -> list[Sample]:
    """Images far from grey, of class 0."""
    return [replace(sample, image=sample.image - 70, label=0) for sample in game.samples(3)]


def salty(images: np.ndarray) -> Any:
    """Class 0 unless more than an eighth of the values are extreme."""
    extreme = ((images < 5) | (images > 250)).reshape(len(images), -1).mean(axis=1)
    return np.where(extreme > 0.125, 5, 0)


@pytest.mark.parametrize(("attack", "name"), [(boundary, "brightness"), (salt_and_pepper, "salty")])
def test_attacks_of_foolbox_find_adversarials_within_the_budget(game: Any, attack: Any, name: str) -> None:
    model = salty if name == "salty" else game.brightness
    rules = replace(game.rules, query_budget=300)
    rows = game.play(attack=attack, model=model, rules=rules, samples=dark(game))
    for row in rows:
        assert row.outcome is Outcome.ADVERSARIAL
        assert row.distance < row.worst_case
        assert 2 < row.queries <= rules.query_budget
    assert game.failures == ()


def test_it_gives_the_same_rows_for_the_same_seed(game: Any) -> None:
    rules = replace(game.rules, query_budget=300)

    def play(seed: int) -> list[tuple[float, int]]:
        return [
            (row.distance, row.queries)
            for row in game.play(attack=boundary, seed=seed, rules=rules, samples=dark(game))
        ]

    assert play(5) == play(5)
    assert play(5) != play(6)


def test_it_gives_one_hot_rows(game: Any) -> None:
    rows: list[Any] = []

    def attack(model: Any, image: Any, label: int, *, target: int | None, rng: Any) -> None:
        wrapped = FoolboxModel(model)
        assert tuple(wrapped.bounds) == (0, 1)
        images = np.stack([np.full(image.shape, level, np.float32) for level in (0.0, 0.5, 1.0)])
        rows.append(wrapped(astensor(images)).numpy())
        rows.append(wrapped(images))

    game.play(attack=attack, samples=game.samples(1))
    for given in rows:
        assert given.tolist() == np.eye(10)[[0, 5, 9]].tolist()


@pytest.mark.parametrize("track", [TrackName.UNTARGETED, TrackName.TARGETED])
def test_an_image_without_a_label_meets_the_criterion(game: Any, track: TrackName) -> None:
    """In either track. The second image is the clean one, which does not."""
    adversarial: list[bool] = []

    def model(images: np.ndarray) -> Any:
        return np.where(images.reshape(len(images), -1).min(axis=1) == 77, -1, 3)

    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> None:
        images = np.stack([np.full(image.shape, 77), image]).astype(np.float32) / 255
        wanted = target if target is not None else label
        rows = FoolboxModel(model)(images).argmax(axis=1)
        adversarial.extend(bool(row == wanted) is (target is not None) for row in rows)

    game.play(attack=attack, model=model, samples=game.samples(1, target=6), track=track)
    assert adversarial == [True, False]
