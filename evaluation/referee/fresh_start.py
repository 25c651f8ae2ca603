"""Fresh instances of the model: where it is restarted, and what it is asked when it knows nothing."""

from __future__ import annotations

import random

import numpy as np

from evaluation.referee.audit import Audit
from evaluation.referee.players import Model
from evaluation.referee.verdict import ask_or_none

STARTS = 2
"""How often a fresh instance is started at the most, where the first gives no answer."""

AUDIT_STARTS = 1 + STARTS
"""How often the audit starts a model in a piece at the most: at a random place while it plays, and at the end."""


def restart_place(seed: int, queries: int) -> int:
    """After how many forwarded images the model is restarted, of at most `queries`.

    Every order of magnitude is as likely as any other: an attack may send a few images or all of them.
    """
    return int(queries ** random.Random(seed).random())


def ask_fresh_model(model: Model, audit: Audit) -> None:
    """The second half of the audit: a freshly started model is asked again about frames of the piece, as they were.

    It has seen nothing of the piece: what a model makes of earlier images, times or orders is missing there and shows.
    An instance that fails is replaced once, so that an accident of the host costs nobody; what is not answered even
    then counts as other labels. Then some images are asked about one by one, without any company.
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
        audit.count(replay.label, labels[0] if labels else None)
        if labels is None:
            break
