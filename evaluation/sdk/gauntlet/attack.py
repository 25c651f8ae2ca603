"""Serve an attack: one function per sample, all samples of a piece in lock-step.

Each sample's function runs in a thread of its own, but strictly one at a time and in the order of the samples. When
every one of them waits for labels, the questions of all travel to the referee as one frame. So a network sees
batches although the attack is written for one image, and a run gives the same result every time.
"""

from __future__ import annotations

import random
import socket
import sys
import threading
import traceback
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from gauntlet import frames
from gauntlet.connection import Connection, Frame
from gauntlet.handle import BudgetExhausted, Clock, ModelHandle

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


class _Lane:
    """One sample's function in its thread; `resume` runs it until it asks something or is done."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.question: Any = None
        self.labels: List[int] = []
        self.left = 0
        self.status = frames.STATUS_DONE
        self.stopped_by: Optional[BaseException] = None
        self._go = threading.Lock()
        self._parked = threading.Lock()
        self._go.acquire()
        self._parked.acquire()
        self._thread: Optional[threading.Thread] = None

    def start(self, work: Callable[[], None]) -> None:
        def body() -> None:
            self._go.acquire()
            try:
                work()
            except BudgetExhausted:
                pass
            except Exception:
                traceback.print_exc()
                self.status = frames.STATUS_RAISED
            except BaseException as stop:
                self.stopped_by = stop
            self.question = None
            self._parked.release()

        self._thread = threading.Thread(target=body, daemon=True)
        self._thread.start()

    def resume(self) -> None:
        self._go.release()
        self._parked.acquire()
        if self.stopped_by is not None:
            raise self.stopped_by

    def ask(self, images: Any) -> Tuple[List[int], int]:
        self.question, self.labels = images, []
        self._parked.release()
        self._go.acquire()
        return self.labels, self.left


class _Piece:
    """The samples of one PIECE frame."""

    def __init__(self, connection: Connection, frame: Frame, sequence: int) -> None:
        welcome = connection.welcome
        self._connection = connection
        self._sequence = sequence
        self._seed, milliseconds, _ = frames.PIECE_PAYLOAD.unpack_from(frame.payload)
        self._clock = Clock(milliseconds / 1000)
        offset = frames.PIECE_PAYLOAD.size
        self._samples = [
            frames.PIECE_SAMPLE.unpack_from(frame.payload, offset + i * frames.PIECE_SAMPLE.size)
            for i in range(frame.count)
        ]
        offset += frame.count * frames.PIECE_SAMPLE.size
        self._images = np.frombuffer(frame.payload, np.uint8, offset=offset).reshape((frame.count, *welcome.shape))

    def play(self, attack: Attack) -> int:
        """Run `attack` on every sample, send FINISH, and give the last sequence number used."""
        self._seed_libraries()
        lanes = [self._lane(attack, index) for index in range(len(self._samples))]
        waiting = lanes
        while waiting:
            for lane in waiting:
                lane.resume()
            waiting = [lane for lane in waiting if lane.question is not None]
            if waiting:
                self._ask(waiting)
        statuses = b"".join(frames.FINISH_SAMPLE.pack(lane.number, lane.status) for lane in lanes)
        self._sequence += 1
        self._connection.send(frames.FINISH, len(lanes), self._sequence, statuses)
        return self._sequence

    def _lane(self, attack: Attack, index: int) -> _Lane:
        number, label, target, _ = self._samples[index]
        welcome = self._connection.welcome
        lane = _Lane(number)
        image = self._images[index]
        handle = ModelHandle(
            lane.ask,
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

        lane.start(work)
        return lane

    def _ask(self, lanes: List[_Lane]) -> None:
        """Send the questions of all lanes, at most `max_count` images a frame, and hand the labels back."""
        numbers = np.concatenate([np.full(len(lane.question), lane.number, "<u2") for lane in lanes])
        images = np.concatenate([lane.question for lane in lanes])
        labels: List[int] = []
        left: List[int] = []
        self._clock.stop()
        step = self._connection.welcome.max_count
        for start in range(0, len(images), step):
            part = images[start : start + step]
            self._sequence += 1
            self._connection.send(frames.QUERY, len(part), self._sequence, numbers[start : start + step], part)
            reply = self._connection.receive()
            labels += np.frombuffer(reply.payload, "<i2", reply.count).tolist()
            left += np.frombuffer(reply.payload, "<u4", reply.count, offset=2 * reply.count).tolist()
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
