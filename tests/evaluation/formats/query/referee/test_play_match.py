"""A match between players that follow the rules."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome
from gauntlet import serve_attack


def brighten(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
    """Raise the brightness in steps until the label changes as wanted."""
    for step in range(1, 128, 4):
        if model.is_adversarial(model(image.astype(float) + step)):
            return model.best
    return None


def test_distances_and_queries_are_those_of_the_adversarial_images_that_were_found(game: Any) -> None:
    rows = game.play(attack=brighten)
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 3
    for row, sample, image in zip(rows, game.samples(3), game.pieces[0].perturbed, strict=True):
        difference = (image.astype(float) - sample.image) / 255
        assert row.distance == pytest.approx(np.linalg.norm(difference.ravel()), rel=1e-12)
        assert game.brightness(image[None])[0] != 3
        assert row.reason is None
        assert 0 < row.queries <= game.rules.query_budget
    assert game.failures == ()
    assert game.audit.replayed > 0
    assert game.audit.changed == 0


def test_it_returns_the_same_rows_for_the_same_seed(game: Any) -> None:
    def noise(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        for scale in range(10, 250, 10):
            model(image + rng.normal(scale, 5, image.shape))
        return None

    first = [(row.outcome, row.distance, row.queries) for row in game.play(attack=noise, seed=5)]
    again = [(row.outcome, row.distance, row.queries) for row in game.play(attack=noise, seed=5)]
    other = [(row.outcome, row.distance, row.queries) for row in game.play(attack=noise, seed=6)]
    assert first == again
    assert first != other


def test_it_plays_pieces_of_the_rules_size(game: Any) -> None:
    rows = game.play(attack=brighten, samples=game.samples(7), rules=replace(game.rules, piece_samples=3))
    assert [len(piece.samples) for piece in game.pieces] == [3, 3, 1]
    assert [row.sample for row in rows] == list(range(7))
    assert game.model_connection.opened == 1 + 1  # one for all pieces, and one for their audit
    assert game.attack_connection.opened == 3


def test_a_row_depends_on_no_other_piece(game: Any) -> None:
    """An attack with memory: it would use what it learned in earlier pieces, if its process were kept."""

    def attack_of(connected: socket.socket) -> None:
        learned = [40.0]

        def attack(model: Any, image: Any, label: int | None, **_: Any) -> None:
            while learned[0] > 1 and model.is_adversarial(model(image + learned[0])):
                learned[0] -= 2

        serve_attack(attack, connected=connected)

    def play(samples: list[Any]) -> list[Any]:
        rows = game.play(raw_attack=attack_of, samples=samples, rules=replace(game.rules, piece_samples=2))
        return [replace(row, seconds=0.0) for row in rows]

    samples = game.samples(6)
    together = play(samples)
    assert together == play(samples[:2]) + play(samples[2:4]) + play(samples[4:])
    assert together[2:4] + together[:2] == play(samples[2:4] + samples[:2])
    assert len({row.queries for row in together}) > 1  # within a piece the attack may share what it learns


def test_it_records_grey_where_nothing_was_found(game: Any) -> None:
    rows = game.play(attack=lambda *_, **__: None)
    for row, image in zip(rows, game.pieces[0].perturbed, strict=True):
        assert (row.outcome, row.reason) == (Outcome.FAILED, Reason.NO_ADVERSARIAL)
        assert row.distance == row.worst_case
        assert (image == 128).all()


def test_it_records_zero_where_the_clean_image_is_misclassified(game: Any) -> None:
    samples = [replace(game.samples(1)[0], label=4)]
    (row,) = game.play(attack=brighten, samples=samples)
    assert (row.outcome, row.reason, row.distance, row.queries) == (Outcome.CLEAN_WRONG, Reason.MISCLASSIFIED, 0.0, 0)


def test_it_caps_every_distance_at_the_worst_case(game: Any) -> None:
    (row,) = game.play(attack=lambda model, image, *_, **__: np.full_like(image, 255), samples=game.samples(1))
    assert row.outcome is Outcome.ADVERSARIAL
    assert row.distance == row.worst_case


def test_a_targeted_attack_must_reach_the_target(game: Any) -> None:
    seen: list[tuple[int | None, int | None]] = []

    def attack(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        seen.append((label, target))
        return brighten(model, image, label, target=target, rng=rng)

    rows = game.play(attack=attack, samples=game.samples(2, target=6), track=TrackName.TARGETED)
    assert seen == [(None, 6)] * 2
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 2
    assert all(game.brightness(image[None])[0] == 6 for image in game.pieces[0].perturbed)


def test_the_trace_holds_every_charged_query(game: Any) -> None:
    rows = game.play(attack=brighten)
    trace = game.pieces[0].trace
    for row in rows:
        mine = trace.sample == row.sample
        assert mine.sum() == row.queries
        assert trace.query[mine].tolist() == list(range(1, row.queries + 1))
    adversarial = trace.label != 3
    assert min(trace.distance[adversarial]) == pytest.approx(min(row.distance for row in rows), rel=1e-6)


def test_the_referee_keeps_the_best_adversarial_that_an_attack_discards(game: Any) -> None:
    def careless(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> Any:
        brighten(model, image, label, target=target, rng=rng)
        return np.full_like(image, 255)

    rows = game.play(attack=careless)
    assert all(row.outcome is Outcome.ADVERSARIAL and row.distance < 3 for row in rows)


def test_questions_of_all_samples_travel_as_one_frame(game: Any) -> None:
    sizes: list[int] = []

    def model(images: np.ndarray) -> np.ndarray:
        sizes.append(len(images))
        return game.brightness(images)  # type: ignore[no-any-return]

    game.play(attack=brighten, model=model, samples=game.samples(10))
    assert sizes.count(10) >= 5
