"""Serve an attack: one function per sample, all samples of a piece in lock-step.

When the function of every sample waits for labels (`gauntlet.lanes`), the questions of all travel to the referee as
one frame. So a network sees batches although the attack is written for one image, and a run gives the same result
every time.
"""

from __future__ import annotations

import random
import socket
import struct
import sys
from functools import partial
from typing import Any, Callable, List, Optional

import numpy as np

from gauntlet import frames
from gauntlet.connection import Connection, Frame
from gauntlet.handle import Clock, ModelHandle
from gauntlet.lanes import Lane, Lanes

Attack = Callable[..., Any]


def serve_attack(attack: Attack, *, connected: Optional[socket.socket] = None) -> None:
    """Attack the referee's samples with `attack(model, image, label, *, target, rng)` until the match is over.

    `image` is uint8 (height, width, 3); `label` is None where the rules hide it, `target` None when untargeted;
    `rng` is a numpy Generator of this sample's own. It returns an image, or None for `model.best`. Only queried
    images count: an image that was never queried is asked about once, at the price of a query.
    """
    connection = Connection(frames.ROLE_ATTACK, connected)
    sequence = 0
    while True:
        frame = connection.receive()
        if frame.type == frames.BYE:
            break
        sequence = _Piece(connection, frame, sequence).play(attack)
    connection.close()


class _Piece:
    """The samples of one PIECE frame."""

    def __init__(self, connection: Connection, frame: Frame, sequence: int) -> None:
        welcome = connection.welcome
        self._connection = connection
        self._sequence = sequence
        self._seed, milliseconds, _ = frames.PIECE_PAYLOAD.unpack_from(frame.payload)
        self._clock = Clock(milliseconds / 1000)
        self._lanes = Lanes(self._ask)
        offset = frames.PIECE_PAYLOAD.size
        self._samples = [
            frames.PIECE_SAMPLE.unpack_from(frame.payload, offset + i * frames.PIECE_SAMPLE.size)
            for i in range(frame.count)
        ]
        offset += frame.count * frames.PIECE_SAMPLE.size
        images = np.frombuffer(frame.payload, np.uint8, offset=offset)
        self._images = images.reshape((frame.count, *welcome.shape)).copy()

    def play(self, attack: Attack) -> int:
        """Run `attack` on every sample, send FINISH, and give the last sequence number used."""
        self._seed_libraries()
        lanes = [self._lane(attack, index) for index in range(len(self._samples))]
        self._lanes.run()
        statuses = b"".join(frames.FINISH_SAMPLE.pack(lane.number, lane.status) for lane in lanes)
        self._sequence += 1
        self._connection.send(frames.FINISH, len(lanes), self._sequence, statuses)
        return self._sequence

    def _lane(self, attack: Attack, index: int) -> Lane:
        number, label, target, _ = self._samples[index]
        welcome = self._connection.welcome
        lane = Lane(number)
        image = self._images[index]
        handle = ModelHandle(
            partial(self._lanes.ask, lane),
            image=image,
            label=label if label >= 0 else None,
            target=target if target >= 0 else None,
            classes=welcome.classes,
            budget=welcome.budget,
            clock=self._clock,
        )
        rng = np.random.default_rng([self._seed & 0xFFFFFFFF, self._seed >> 32, number])

        def work() -> None:
            answer = attack(handle, image.copy(), handle.label, target=handle.target, rng=rng)
            if answer is not None and not handle.knows(answer):
                handle(answer)

        self._lanes.add(lane, work)
        return lane

    def _ask(self, lanes: List[Lane]) -> None:
        """Send the questions of all lanes, at most `max_count` images a frame, and hand the labels back."""
        numbers: List[int] = []
        images: List[Any] = []
        for lane in lanes:
            numbers += [lane.number] * len(lane.question)
            images += lane.question
        labels: List[int] = []
        left: List[int] = []
        self._clock.stop()
        step = self._connection.welcome.max_count
        for start in range(0, len(images), step):
            part = images[start : start + step]
            count = len(part)
            self._sequence += 1
            named = struct.pack("<{}H".format(count), *numbers[start : start + step])
            self._connection.send(frames.QUERY, count, self._sequence, named, *part)
            frame = self._connection.receive()
            if frame.type == frames.BYE:
                raise SystemExit(0)
            answer = frame.payload
            labels += struct.unpack_from("<{}h".format(count), answer)
            left += struct.unpack_from("<{}I".format(count), answer, 2 * count)
        self._clock.go_on()
        position = 0
        for lane in lanes:
            end = position + len(lane.question)
            lane.labels, lane.left = labels[position:end], left[end - 1]
            position = end

    def _seed_libraries(self) -> None:
        """Seed the global generators that attack libraries draw from, so that a piece repeats exactly."""
        random.seed(self._seed)
        np.random.seed(self._seed & 0xFFFFFFFF)  # foolbox draws from it
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(self._seed & 0x7FFFFFFF)
