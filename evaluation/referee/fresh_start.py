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


def ask_fresh_model(model: Model, audit: Audit, first: int) -> None:
    """The second half of the audit: a freshly started model is asked again about what the piece kept.

    It has seen nothing of the piece: what a model makes of earlier images, times or orders is missing there and shows.
    An instance that fails is replaced once, so that an accident of the host costs nobody; what is not answered even
    then counts as another label. The first frame has `first` images, as that of a match.
    """
    replays = audit.take_fresh()
    open_ones = set(range(len(replays)))
    for _ in range(STARTS):
        model.renew()
        for part in audit.fresh_frames(len(replays), first):
            if not open_ones.intersection(part):
                continue
            labels = ask_or_none(model, np.stack([replays[index].image for index in part]))
            if labels is None:
                break
            for index, label in zip(part, labels, strict=True):
                if index in open_ones:
                    open_ones.remove(index)
                    audit.count_fresh(replays[index].label, label)
        if not open_ones:
            return
    for index in open_ones:
        audit.count_fresh(replays[index].label, None)
