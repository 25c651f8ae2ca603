"""What an attack holds of the model: a function from images to labels, with a budget, a memory and a clock."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from gauntlet import frames
from gauntlet.images import as_uint8

TIME_MARGIN = 0.5
"""Seconds before the end of the attack's time at which its queries are refused, so that it can finish in order.

To them comes the longest time that all samples together have computed between two frames: another such stretch must
still fit.
"""


class BudgetExhausted(Exception):
    """The queries or the time of this sample are used up. Left uncaught, it ends the sample with `model.best`."""


class Clock:
    """The attack's own seconds: it stops while the referee and the model work.

    `longest_stretch`: the most seconds it has run without standing still.
    """

    def __init__(self, seconds: float) -> None:
        self._running_since = time.monotonic()
        self._end = self._running_since + seconds
        self._stopped: Optional[float] = None
        self.longest_stretch = 0.0

    def stop(self) -> None:
        self._stopped = time.monotonic()
        self.longest_stretch = max(self.longest_stretch, self._stopped - self._running_since)

    def go_on(self) -> None:
        if self._stopped is not None:
            self._running_since = time.monotonic()
            self._end += self._running_since - self._stopped
            self._stopped = None

    @property
    def seconds_left(self) -> float:
        return self._end - time.monotonic()


class ModelHandle:
    """The model, as an attack on one sample sees it. Call it with an image to get a label."""

    def __init__(
        self,
        ask: Callable[[List[bytes]], Tuple[List[int], int]],
        *,
        image: Any,
        label: Optional[int],
        target: Optional[int],
        classes: int,
        budget: int,
        clock: Clock,
    ) -> None:
        """`ask` sends the bytes of uint8 images to the referee and gives as many labels, and the queries left."""
        self._ask = ask
        self._clean = np.asarray(image, np.float32)
        self._clean64 = np.asarray(image, np.float64)
        self._clock = clock
        # by the hash of the bytes, 64 bits: of a thousand images, two have the same one once in 10^13 times
        self._seen: Dict[int, int] = {}
        self.shape = tuple(image.shape)
        self.classes = classes
        self.label = label
        self.target = target
        self.queries_left = budget
        self.best: Optional[np.ndarray] = None
        self.best_distance = float("inf")

    @property
    def seconds_left(self) -> float:
        """Seconds that the attack has left for the whole piece; the model's own time is not counted."""
        return self._clock.seconds_left

    def is_adversarial(self, label: int) -> bool:
        """Whether an image with this label meets the criterion."""
        if label == frames.UNCLASSIFIED:
            return True
        return label == self.target if self.target is not None else label != self.label

    def knows(self, image: Any) -> bool:
        """Whether this image, rounded, has been queried on this sample before."""
        return hash(as_uint8(image, self.shape).tobytes()) in self._seen

    def __call__(self, image: Any) -> int:
        """The label of one image, -1 where the model gives none. Raises BudgetExhausted."""
        content = as_uint8(image, self.shape).tobytes()
        key = hash(content)
        if key not in self._seen:
            if not self.queries_left:
                raise BudgetExhausted("the queries of this sample are used up")
            self._query([key], [content])
        return self._seen[key]

    def many(self, images: Sequence[Any]) -> List[int]:
        """The labels of several images, in one frame. What was asked before is answered from memory, free.

        Where the budget does not reach, the first images are still asked (and count for `best`), then
        BudgetExhausted is raised.
        """
        contents = [as_uint8(image, self.shape).tobytes() for image in images]
        keys = [hash(content) for content in contents]
        new = {key: content for key, content in zip(keys, contents) if key not in self._seen}
        asked = list(new)[: self.queries_left]
        if asked:
            self._query(asked, [new[key] for key in asked])
        if len(asked) < len(new):
            raise BudgetExhausted("the queries of this sample are used up")
        return [self._seen[key] for key in keys]

    def _query(self, keys: List[int], contents: List[bytes]) -> None:
        clock = self._clock
        if clock.seconds_left < TIME_MARGIN + clock.longest_stretch:
            raise BudgetExhausted("the attack's time is used up")
        labels, self.queries_left = self._ask(contents)
        for key, content, label in zip(keys, contents, labels):
            if label == frames.EXHAUSTED:
                raise BudgetExhausted("the queries of this sample are used up")
            self._seen[key] = label
            if self.is_adversarial(label):
                self._keep(np.frombuffer(content, np.uint8).reshape(self.shape))

    def _keep(self, image: np.ndarray) -> None:
        # in single precision, rounding adds far less than the hundredth by which an image is ruled out at once
        difference = np.subtract(image, self._clean, dtype=np.float32).ravel()
        if float(np.dot(difference, difference)) > 1.01 * (255 * self.best_distance) ** 2:
            return
        distance = float(np.linalg.norm((image - self._clean64).ravel() / 255.0))
        if distance < self.best_distance:
            self.best, self.best_distance = image.copy(), distance
