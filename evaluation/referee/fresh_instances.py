"""Fresh instances of the model: where it is restarted, and what a new instance is asked."""

from __future__ import annotations

import random

import numpy as np

from evaluation.referee.audit import Audit
from evaluation.referee.players import Model
from evaluation.referee.verdict import ask_or_none

STARTS = 2
"""Number of fresh instances that are started at most, where the first does not answer."""

AUDIT_STARTS = 1 + STARTS
"""Number of starts of a model for the audit of a piece at most: at a random place during play, and at the end."""


def restart_place(seed: int, queries: int) -> int:
    """Return the number of forwarded images, of at most `queries`, after which the model is restarted.

    All orders of magnitude are equally likely: an attack may send a few images or all of them.
    """
    return int(queries ** random.Random(seed).random())


def ask_fresh_model(model: Model, audit: Audit) -> None:
    """Ask a freshly started model again about frames of the piece, as they were: the second half of the audit.

    The instance has seen nothing of the piece, so a model that uses earlier images, times or orders answers
    differently. An instance that fails is replaced once, so that an accident of the host costs nothing; an image
    without an answer after that counts as changed. Some images are then asked about one by one.
    """
    due = audit.fresh_frames()
    if not due:
        return
    for _ in range(STARTS):
        model.renew()
        while due and (labels := ask_or_none(model, due[0].images)) is not None:
            audit.count_fresh(due.pop(0).labels, labels)
        if not due:
            break
    for frame in due:
        audit.count_fresh(frame.labels, None)
    if due:
        return
    for replay in audit.alone():
        labels = ask_or_none(model, replay.image[np.newaxis])
        audit.count_alone(replay.label, labels[0] if labels else None)
        if labels is None:
            break
