"""Models that are not a function of one image: the audit finds them, and their first answers count."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side
from evaluation.formats.query.kept_frames import KeptFrames
from evaluation.formats.query.referee import model_audit
from evaluation.formats.query.referee.derived_seeds import derive_seed
from evaluation.formats.query.referee.kept_frame_bytes import pack, unpack, with_audit
from evaluation.formats.query.results import AuditReport, Outcome
from evaluation.protocol import model_time
from gauntlet import serve_model

Predict = Callable[[np.ndarray], np.ndarray]


def scan(model: Any, image: Any, label: int | None, **_: Any) -> None:
    """Ask about twenty brightnesses, a third of them adversarial, without repetition."""
    for step in range(20):
        model(image + float(step))


def _stateful(honest: Predict) -> Predict:
    """Give other labels to every third frame."""
    calls: list[int] = []

    def predict(images: np.ndarray) -> np.ndarray:
        calls.append(1)
        return (honest(images) + (len(calls) % 3 == 0)) % 10

    return predict


def _ageing(honest: Predict) -> Predict:
    """Answer honestly in the first frames only, like a model that reads the clock."""
    calls: list[int] = []

    def predict(images: np.ndarray) -> np.ndarray:
        calls.append(1)
        return np.where(len(calls) > 15, 9, honest(images))

    return predict


def _random(honest: Predict) -> Predict:
    rng = np.random.default_rng()
    return lambda images: np.where(rng.random(len(images)) < 0.5, honest(images), rng.integers(0, 10, len(images)))


def _reads_the_batch(honest: Predict) -> Predict:
    """Give all images of a frame the label of the brightest."""
    return lambda images: np.full(len(images), honest(images).max())


def _reads_the_order(honest: Predict) -> Predict:
    """Give another label to the first image of a frame."""
    return lambda images: (honest(images) + (np.arange(len(images)) == 0)) % 10


def _other_for_one(honest: Predict) -> Predict:
    """Give another label to batches of one image."""
    return lambda images: (honest(images) + (len(images) == 1)) % 10


def _hunts_verdicts(honest: Predict) -> Predict:
    """Give an image that was seen before its true label, so that no adversarial would be confirmed."""
    seen: set[bytes] = set()

    def predict(images: np.ndarray) -> np.ndarray:
        labels = honest(images)
        for index, image in enumerate(images):
            if image.tobytes() in seen:
                labels[index] = 3
            seen.add(image.tobytes())
        return labels

    return predict


DISHONEST = [_stateful, _ageing, _random, _reads_the_batch, _reads_the_order, _other_for_one, _hunts_verdicts]


@pytest.mark.parametrize("dishonest", DISHONEST, ids=lambda function: str(function.__name__).strip("_"))
def test_it_catches_what_is_no_function_of_one_image(game: Any, dishonest: Callable[[Predict], Predict]) -> None:
    rules = replace(game.rules, piece_samples=4)
    game.play(attack=scan, model=dishonest(game.brightness), samples=game.samples(8), rules=rules)
    assert not game.audit.passed
    assert (Side.MODEL, Reason.INCONSISTENT) in [(failure.side, failure.reason) for failure in game.failures]


def test_an_honest_model_passes(game: Any) -> None:
    game.play(attack=scan, samples=game.samples(4))
    assert game.audit.passed
    assert (game.audit.changed, game.failures) == (0, ())
    assert game.audit.replayed >= 16


def test_hunting_verdicts_costs_the_attack_nothing(game: Any) -> None:
    honest = [row.distance for row in game.play(attack=scan)]
    rows = game.play(attack=scan, model=_hunts_verdicts(game.brightness))
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 3
    assert [row.distance for row in rows] == honest
    assert [row.reason for row in rows] == [Reason.INCONSISTENT] * 3


def test_lies_that_replays_would_dilute_are_caught(game: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that denies the adversarials of two samples in ten and is otherwise honest is caught."""
    monkeypatch.setattr(model_audit, "LEAST_PER_PIECE", 400)
    nearest: dict[int, dict[bytes, float]] = {0: {}, 1: {}}
    clean = [sample.image.astype(float) for sample in game.samples(10)]

    def predict(images: np.ndarray) -> np.ndarray:
        labels = np.asarray(game.brightness(images))
        for index, image in enumerate(images):
            patterns = [float(np.ptp(image - each)) for each in clean]  # 0 for the image that was brightened
            known = nearest.get(int(np.argmin(patterns)))
            if known is None or labels[index] == 3:
                continue
            if image.tobytes() in sorted(known, key=known.__getitem__)[:3]:
                labels[index] = 3
            known[image.tobytes()] = float(image.mean())
        return labels

    def attack(model: Any, image: Any, label: int | None, **_: Any) -> None:
        for step in range(40, 0, -1):  # the nearest last: until the verdict, the model has nothing to deny
            model(image + float(step))

    rows = game.play(attack=attack, model=predict, samples=game.samples(10))
    assert game.audit.changed <= 0.05 * game.audit.replayed
    assert not game.audit.passed
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 10


def test_a_single_label_that_changes_is_within_the_tolerance(game: Any) -> None:
    """Floating point at the boundary: the batch may flip a label of an honest network."""
    flipped: list[bytes] = []
    clean = {sample.image.tobytes() for sample in game.samples(3)}

    def predict(images: np.ndarray) -> np.ndarray:
        labels = np.asarray(game.brightness(images))
        for index, image in enumerate(images):
            if image.tobytes() not in clean and labels[index] == 3 and not flipped:
                flipped.append(image.tobytes())
                labels[index] = 4
        return labels

    rows = game.play(attack=scan, model=predict)
    assert flipped
    assert game.audit.passed
    assert game.audit.changed <= 2
    # the flipped label was the nearest adversarial, and is not confirmed; the next is
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 3
    assert all(row.distance > 1 / 255 for row in rows)


def test_a_sample_without_a_confirmed_candidate_fails(game: Any) -> None:
    """One sample with one adversarial answer by accident: within the tolerance, and without effect."""
    asked: list[bytes] = []

    def predict(images: np.ndarray) -> np.ndarray:
        labels = np.asarray(game.brightness(images))
        for index, image in enumerate(images):
            if image.max() == 255 and not asked:
                asked.append(image.tobytes())
                labels[index] = 5
            elif image.max() == 255:
                labels[index] = 3
        return labels

    def attack(model: Any, image: Any, label: int | None, **_: Any) -> None:
        for value in range(30):
            image[0, 0, 1] = value
            model(image)
        image[0, 0, 0] = 255
        model(image)

    rows = game.play(attack=attack, model=predict)
    assert [(row.outcome, row.reason) for row in rows] == [
        (Outcome.FAILED, Reason.NOT_CONFIRMED),
        (Outcome.FAILED, Reason.NO_ADVERSARIAL),
        (Outcome.FAILED, Reason.NO_ADVERSARIAL),
    ]
    assert game.audit.passed


def test_verdict_and_audit_frames_look_like_the_attacks_own(game: Any, wire: Any) -> None:
    lives: list[list[tuple[int, int, int, int]]] = []

    def recording_model(connected: socket.socket) -> None:
        player = wire(connected)
        player.hello(1)
        frames: list[tuple[int, int, int, int]] = []
        lives.append(frames)
        while (received := player.receive()).kind == 19:
            frames.append((received.kind, received.count, received.sequence, len(received.payload)))
            images = np.frombuffer(received.payload, np.uint8).reshape(received.count, -1)
            player.labels(received, game.brightness(images).tolist())

    sizes = [2, 3, 7, 2, 5, 3, 2, 7, 3]

    def attack(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        for sequence, size in enumerate(sizes, 1):
            places = [index % len(player.samples) for index in range(size)]
            images = [player.brighter(place, 10 + sequence + index) for index, place in enumerate(places)]
            player.ask(sequence, [player.samples[place] for place in places], images)
        player.finish(len(sizes) + 1)
        player.wait_for_disconnect()

    rows = game.play(raw_model=recording_model, raw_attack=attack)
    assert [row.outcome for row in rows] == [Outcome.ADVERSARIAL] * 3
    played, fresh = lives  # the second one for the audit
    asked_by_attack = 1 + len(sizes)  # after the clean images
    assert len(played) > asked_by_attack
    assert {count for _, count, _, _ in played[asked_by_attack:]} <= {3, *sizes}
    assert {count for _, count, _, _ in fresh} <= {1, *sizes}
    for instance in lives:
        assert [sequence for _, _, sequence, _ in instance] == list(range(1, len(instance) + 1))
        assert all(payload == count * game.rules.shape.size for _, count, _, payload in instance)


def test_an_attack_cannot_compute_from_its_seed_what_is_asked_again(
    game: Any, wire: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack knows the referee's code, its own seed, and every frame that it sent."""
    for name in ("MOST_FRAMES", "ENOUGH_FRESH"):  # fewer than it sends
        monkeypatch.setattr(model_audit, name, 32)
    sent: list[tuple[bytes, int]] = []
    received: list[int] = []
    lives: list[set[bytes]] = []

    def model(connected: socket.socket) -> None:
        asked: set[bytes] = set()
        lives.append(asked)

        def predict(images: np.ndarray) -> np.ndarray:
            asked.update(image.tobytes() for image in images)
            return np.asarray(game.brightness(images))

        serve_model(predict, connected=connected)

    def attack(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        received.append(player.seed)
        for sequence in range(1, 121):
            place = sequence % len(player.samples)
            image = player.brighter(place, sequence)
            labels, _ = player.ask(sequence, [player.samples[place]], [image])
            sent.append((image, labels[0]))
        player.finish(121)
        player.wait_for_disconnect()

    game.play(raw_model=model, raw_attack=attack)
    foreseen = model_audit.Audit(derive_seed(received[0], "audit"), 3 * (1 + game.rules.query_budget))
    clean = np.stack([sample.image.reshape(-1) for sample in game.samples(3)])
    foreseen.watch(clean, [3] * 3, [0.0] * 3, whole=False)
    for image, label in sent:
        foreseen.watch(np.frombuffer(image, np.uint8)[np.newaxis], [label], [1.0])
    frames = {frame.images.tobytes() for frame in foreseen.fresh_frames()}
    assert len(frames) == game.audit.fresh == 32
    assert not frames <= lives[-1]


def test_a_fresh_model_gets_nothing_but_replays(game: Any) -> None:
    """Clean images first would restore the state of a model with memory, which the audit looks for."""
    lives: list[list[bytes]] = []

    def model(connected: socket.socket) -> None:
        asked: list[bytes] = []
        lives.append(asked)

        def predict(images: np.ndarray) -> np.ndarray:
            asked.extend(image.tobytes() for image in images)
            return np.asarray(game.brightness(images))

        serve_model(predict, connected=connected)

    game.play(attack=scan, raw_model=model, samples=game.samples(2))
    played, fresh = lives
    assert set(fresh) <= set(played)
    assert len(fresh) > game.audit.fresh == game.audit.fresh_due > 10  # frames as they were, then images alone
    assert game.audit.fresh_changed == 0


def test_no_instance_is_started_while_another_one_lives(game: Any) -> None:
    """Two instances of one model on one host can talk to each other, whatever separates them."""
    alive: list[int] = []
    most: list[int] = []

    def model(connected: socket.socket) -> None:
        alive.append(1)
        most.append(len(alive))
        serve_model(game.brightness, connected=connected)
        alive.pop()

    game.play(attack=scan, raw_model=model, samples=game.samples(6), rules=replace(game.rules, piece_samples=2))
    assert most == [1, 1]


def test_the_audit_of_every_piece_is_open_until_the_match_is_over(game: Any) -> None:
    """Frames of each piece are kept, so results may be committed before a worker dies; nothing is scored before."""
    game.play(attack=scan, samples=game.samples(6), rules=replace(game.rules, piece_samples=2))
    assert all(piece.audit.open and piece.kept is not None for piece in game.played)
    assert all(not piece.audit.open and piece.kept is None for piece in game.pieces)
    assert [piece.audit.fresh for piece in game.pieces] == [piece.audit.fresh_due for piece in game.pieces]
    assert all(piece.audit.fresh > 10 for piece in game.pieces)


def test_a_fresh_model_gets_the_frames_of_all_pieces_together_the_most_perturbed_first(game: Any) -> None:
    lives: list[list[bytes]] = []

    def model(connected: socket.socket) -> None:
        asked: list[bytes] = []
        lives.append(asked)

        def predict(images: np.ndarray) -> np.ndarray:
            asked.extend(image.tobytes() for image in images)
            return np.asarray(game.brightness(images))

        serve_model(predict, connected=connected)

    game.play(attack=scan, raw_model=model, samples=game.samples(6), rules=replace(game.rules, piece_samples=2))
    pieces = [{image.tobytes() for frame in piece.kept.frames for image in frame.images} for piece in game.played]
    order = [next(place for place, piece in enumerate(pieces) if image in piece) for image in lives[1][:60]]
    assert sum(before != after for before, after in itertools.pairwise(order)) > 10
    values = [np.frombuffer(image, np.uint8).mean() for image in lives[1][: game.audit.fresh]]
    assert all(after < before + 1.0 for before, after in itertools.pairwise(values))


def test_after_a_failed_audit_the_first_answers_decide(game: Any) -> None:
    """What the verdict denied within the tolerance counts again, as if the audit had failed during the piece."""
    denied: list[bytes] = []

    def predict(images: np.ndarray) -> np.ndarray:
        labels = np.asarray(game.brightness(images))
        for index, image in enumerate(images):
            if image.max() == 255 and not denied:
                denied.append(image.tobytes())
                labels[index] = 5
            elif image.max() == 255:
                labels[index] = 3
        return labels

    def attack(model: Any, image: Any, label: int | None, **_: Any) -> None:
        for step in range(20):
            model(image + float(step))
        image[0, 0, 0] = 255
        model(image)

    game.play(attack=attack, model=predict)
    (piece,) = game.played
    assert piece.audit.passed
    final = with_audit(piece, AuditReport(fresh=piece.audit.fresh_due, fresh_changed=piece.audit.fresh_due))
    assert [row.reason for row in final.samples] == [Reason.INCONSISTENT] * 3
    first, *others = zip(piece.samples, final.samples, strict=True)
    assert first[1].distance < first[0].distance
    assert first[1].found_label == 5
    assert final.perturbed[0].tobytes() == denied[0]
    assert all(replace(before, reason=after.reason) == after for before, after in others)
    assert np.array_equal(final.perturbed[1:], piece.perturbed[1:])


def test_a_sample_that_no_verdict_confirmed_is_found_after_a_failed_audit(game: Any) -> None:
    asked: list[bytes] = []

    def predict(images: np.ndarray) -> np.ndarray:
        labels = np.full(len(images), 3)
        for index, image in enumerate(images):
            if image.max() == 255 and not asked:
                asked.append(image.tobytes())
                labels[index] = 5
        return labels

    def attack(model: Any, image: Any, label: int | None, **_: Any) -> None:
        for value in range(30):
            image[0, 0, 1] = value
            model(image)
        image[0, 0, 0] = 255
        model(image)

    game.play(attack=attack, model=predict)
    (piece,) = game.played
    assert [row.outcome for row in piece.samples] == [Outcome.FAILED] * 3
    final = with_audit(piece, AuditReport(fresh=piece.audit.fresh_due, fresh_changed=piece.audit.fresh_due))
    assert [row.outcome for row in final.samples] == [Outcome.ADVERSARIAL, Outcome.FAILED, Outcome.FAILED]
    assert final.samples[0].reason is Reason.INCONSISTENT
    assert final.samples[0].distance < piece.samples[0].distance
    assert piece.samples[1:] == final.samples[1:]


def test_nothing_is_final_while_answers_are_due(game: Any) -> None:
    game.play(attack=scan)
    with pytest.raises(ValueError, match="images were asked about again"):
        with_audit(game.played[0], AuditReport(fresh=1))


def test_kept_frames_survive_as_bytes(game: Any) -> None:
    game.play(attack=scan, model=_hunts_verdicts(game.brightness))
    kept = game.played[0].kept
    data = pack(kept)
    again = unpack(data)
    assert pack(again) == data
    for before, after in zip(kept.frames + kept.alone, again.frames + again.alone, strict=True):
        assert np.array_equal(before.images, after.images)
        assert before.labels == after.labels
    assert unpack(pack(KeptFrames(()))).frames == ()


@pytest.mark.parametrize("damage", [b"", b"no archive", slice(0, 200)])
def test_damaged_kept_frames_are_a_fault(game: Any, damage: Any) -> None:
    game.play(attack=scan)
    data = pack(game.played[0].kept)
    with pytest.raises(Fault, match="kept frames"):
        unpack(data[damage] if isinstance(damage, slice) else damage)


def test_a_model_that_is_another_one_after_each_start_is_caught_however_long_the_match(game: Any) -> None:
    starts: list[int] = []

    def model(connected: socket.socket) -> None:
        starts.append(1)
        shift = len(starts) - 1
        serve_model(lambda images: (np.asarray(game.brightness(images)) + shift) % 10, connected=connected)

    game.play(attack=scan, raw_model=model, samples=game.samples(40), rules=replace(game.rules, piece_samples=2))
    assert game.audit.fresh_changed == game.audit.fresh
    assert [failure.reason for failure in game.failures] == [Reason.INCONSISTENT]


def ends_in_frame(number: int) -> Callable[[Any, int, int], None]:
    def end(connected: Any, instance: int, frame: int) -> None:
        if instance > 1 and frame == number:
            raise SystemExit(1)

    return end


def never_answers(connected: Any, instance: int, frame: int) -> None:
    if instance > 1:
        connected.recv(1 << 20, socket.MSG_PEEK | socket.MSG_WAITALL)


@pytest.mark.parametrize("ends", [ends_in_frame(1), ends_in_frame(2), ends_in_frame(3), never_answers])
def test_a_model_that_does_not_answer_after_a_fresh_start_fails_the_audit(
    game: Any, monkeypatch: pytest.MonkeyPatch, ends: Callable[[Any, int, int], None]
) -> None:
    """The model remembers the clean images, and ends where that would be detected."""
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", 1.0)
    rows = game.play(
        attack=scan,
        raw_model=remembering_model(game, ends),
        samples=game.samples(4),
        rules=replace(game.rules, model_seconds_per_image=0.001),
    )
    assert game.audit.fresh == game.audit.fresh_due
    assert game.audit.fresh_unanswered > 0
    assert not game.audit.passed
    assert Reason.INCONSISTENT in [failure.reason for failure in game.failures]
    assert {row.outcome for row in rows} <= {Outcome.FAILED, Outcome.ADVERSARIAL}


def test_an_honest_model_whose_fresh_start_fails_once_is_not_blamed(game: Any) -> None:
    starts: list[int] = []

    def model(connected: socket.socket) -> None:
        starts.append(1)
        if len(starts) == 2:
            connected.close()
            return
        serve_model(game.brightness, connected=connected)

    honest = [replace(row, seconds=0.0) for row in game.play(attack=scan)]
    rows = [replace(row, seconds=0.0) for row in game.play(attack=scan, raw_model=model)]
    assert len(starts) == 3
    assert game.audit.passed
    assert (game.audit.fresh, game.audit.fresh_unanswered) == (game.audit.fresh_due, 0)
    # of the 16 replays, two are of one image: `scan` also asks about a clean one
    assert (game.audit.alone, game.audit.alone_changed) == (15, 0)
    assert rows == honest


def test_an_audit_with_answers_due_is_open() -> None:
    assert AuditReport(fresh_due=3, fresh=2).open
    assert not AuditReport(fresh_due=3, fresh=3).open
    assert not AuditReport().open


def test_no_verdict_frame_holds_an_image_twice_where_others_could_fill_it(game: Any) -> None:
    """Otherwise a model that denies single images of a frame would recognise the verdict."""
    after_clean: list[list[bytes]] = []

    def predict(images: np.ndarray) -> np.ndarray:
        after_clean.append([image.tobytes() for image in images])
        return np.asarray(game.brightness(images))

    game.play(attack=scan, model=predict, samples=game.samples(10))
    assert all(len(set(images)) == len(images) for images in after_clean)


def test_an_attack_that_repeats_an_image_at_the_boundary_blames_nobody(game: Any, wire: Any) -> None:
    """Rounding may give one image another label alone: however often it was asked, it is one image."""
    found: list[bytes] = []

    def predict(images: np.ndarray) -> np.ndarray:
        labels = np.asarray(game.brightness(images))
        at_the_boundary = len(images) == 1 and images[0].tobytes() in found
        return labels + 1 if at_the_boundary else labels

    def attack(connected: socket.socket) -> None:
        player = wire(connected)
        player.begin_attack()
        found.append(player.brighter(0, 10))
        for sequence in range(1, 21):
            other = player.brighter(1, 10 + sequence)
            player.ask(sequence, player.samples[:2], [found[0], other])
        player.finish(21)
        player.wait_for_disconnect()

    game.play(raw_attack=attack, model=predict, samples=game.samples(2))
    assert game.audit.alone_changed == 1
    assert game.audit.alone > 1
    assert game.audit.passed


@pytest.mark.parametrize(
    ("report", "passed"),
    [
        (AuditReport(), True),
        (AuditReport(replayed=10, changed=2), True),
        (AuditReport(replayed=10, changed=3), False),
        (AuditReport(replayed=100, changed=5), True),
        (AuditReport(replayed=100, changed=6), False),
        (AuditReport(replayed=100, changed=4, judged=10, denied=3), True),
        (AuditReport(replayed=100, changed=4, judged=10, denied=4), False),
        (AuditReport(replayed=9000, fresh=64, fresh_changed=3), True),
        (AuditReport(replayed=9000, fresh=64, fresh_changed=4), False),
        (AuditReport(replayed=1000, changed=20, judged=200, denied=20), True),
        (AuditReport(replayed=1000, changed=21, judged=200, denied=21), False),
        (AuditReport(replayed=100, alone=16, alone_changed=2), True),
        (AuditReport(replayed=100, alone=16, alone_changed=3), False),
    ],
)
def test_the_tolerance_is_what_the_rules_say(report: AuditReport, passed: bool) -> None:
    assert report.passed is passed


def remembering_model(
    game: Any, at_frame: Callable[[Any, int, int], None] = lambda *_: None
) -> Callable[[socket.socket], None]:
    """Remember the first images, and give similar images the same label; `at_frame` may end the process."""
    lives: list[int] = []

    def model(connected: socket.socket) -> None:
        lives.append(1)
        instance = len(lives)
        anchors: list[tuple[np.ndarray, int]] = []
        seen: list[int] = []

        def predict(images: np.ndarray) -> np.ndarray:
            seen.append(1)
            at_frame(connected, instance, len(seen))
            labels = np.asarray(game.brightness(images))
            for index, image in enumerate(images.astype(float)):
                near = [label for anchor, label in anchors if np.abs(anchor - image).mean() < 25]
                if near:
                    labels[index] = near[0]
                else:
                    anchors.append((image, int(labels[index])))
            return labels

        serve_model(predict, connected=connected)

    return model


def test_a_model_that_remembers_images_is_caught_by_the_fresh_start(game: Any) -> None:
    """The cheat that the rules of 2018 name: remember the images before the attack, and repeat their labels."""
    rows = game.play(
        attack=scan,
        raw_model=remembering_model(game),
        samples=game.samples(20),
        rules=replace(game.rules, piece_samples=2),
    )
    assert Outcome.FAILED in {row.outcome for row in rows}
    assert [failure.reason for failure in game.failures] == [Reason.INCONSISTENT]
