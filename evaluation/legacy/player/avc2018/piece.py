"""One piece of a match: its samples, what is known of them, and their queries."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Dict, List, Optional

import numpy as np

from avc2018 import messages
from gauntlet import frames
from gauntlet.connection import Connection, Frame


@dataclass
class PieceSample:
    """One sample: the referee's number of it, its clean image, and the state of the attack on it."""

    number: int
    image: np.ndarray
    label: Optional[int]
    target: Optional[int]
    left: int
    labels: Dict[bytes, int] = field(default_factory=dict)
    queried: bool = False
    stored: bool = False
    status: int = frames.STATUS_DONE

    @property
    def name(self) -> str:
        """The file name that the program sees."""
        return "{:04d}.npy".format(self.number)

    @property
    def given_label(self) -> int:
        """What 2018 gave: the target in the targeted track, else the true label."""
        if self.target is not None:
            return self.target
        return self.label if self.label is not None else 0

    @property
    def adversarial_label(self) -> int:
        """A label that meets the criterion, for an image without one: 2018 had no such answer."""
        if self.target is not None:
            return self.target
        return 0 if self.label != 0 else 1

    @property
    def untouched(self) -> bool:
        """True while nothing was asked or stored for it, and no program ended at it."""
        return not (self.queried or self.stored or self.status)


class AttackPiece:
    """The samples of one PIECE frame, by their place in it. `sequence` is the last number used."""

    def __init__(self, connection: Connection, frame: Frame, sequence: int) -> None:
        welcome = connection.welcome
        self._connection = connection
        self.sequence = sequence
        self.seed, _, _ = frames.PIECE_PAYLOAD.unpack_from(frame.payload)
        offset = frames.PIECE_PAYLOAD.size
        rows = [
            frames.PIECE_SAMPLE.unpack_from(frame.payload, offset + i * frames.PIECE_SAMPLE.size)
            for i in range(frame.count)
        ]
        offset += frame.count * frames.PIECE_SAMPLE.size
        images = np.frombuffer(frame.payload, np.uint8, offset=offset).reshape((frame.count, *welcome.shape)).copy()
        self.samples = [
            PieceSample(
                number,
                image,
                label if label >= 0 else None,
                target if target >= 0 else None,
                welcome.budget,
            )
            for (number, label, target, _), image in zip(rows, images)
        ]
        self.clean: List[np.ndarray] = list(images)

    def ask(self, index: int, content: bytes) -> int:
        """Return the label of an image for a sample, or `messages.USED_UP`. What was asked before costs nothing."""
        sample = self.samples[index]
        key = hashlib.blake2b(content, digest_size=16).digest()
        if key not in sample.labels:
            sample.queried = True
            if sample.left == 0:
                return messages.USED_UP
            self.sequence += 1
            self._connection.send(
                frames.QUERY, 1, self.sequence, np.asarray([sample.number], "<u2"), np.frombuffer(content, np.uint8)
            )
            reply = self._connection.receive()
            label = int(np.frombuffer(reply.payload, "<i2", 1)[0])
            sample.left = int(np.frombuffer(reply.payload, "<u4", 1, offset=2)[0])
            if label == frames.EXHAUSTED:
                return messages.USED_UP
            sample.labels[key] = sample.adversarial_label if label == frames.UNCLASSIFIED else label
        return sample.labels[key]

    def store(self, index: int, content: bytes) -> int:
        """Note the answer for a sample. Only queried images count here, so a new one is queried."""
        self.samples[index].stored = True
        return self.ask(index, content) if content else 0

    def untouched(self) -> List[int]:
        """Return the places of the samples that no program has worked on."""
        return [index for index, sample in enumerate(self.samples) if sample.untouched]

    def finish(self) -> None:
        """Send FINISH."""
        statuses = b"".join(frames.FINISH_SAMPLE.pack(sample.number, sample.status) for sample in self.samples)
        self.sequence += 1
        self._connection.send(frames.FINISH, len(self.samples), self.sequence, statuses)
