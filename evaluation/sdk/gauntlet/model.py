"""Serve a classifier."""

from __future__ import annotations

import socket
import struct
from typing import Any, Callable, List, Optional

import numpy as np

from gauntlet import frames
from gauntlet.connection import Connection


def serve_model(predict: Callable[[Any], Any], *, connected: Optional[socket.socket] = None) -> None:
    """Answer the referee's images with `predict` until the match is over.

    `predict` takes uint8 (n, height, width, 3), n from 1 to 64, and returns n integer labels. It must be a pure
    function of each image by itself: no state, no randomness, no look at the rest of the batch; this is audited.
    The array is valid during the call: the next images are written into the same memory.
    Load weights before calling: set-up time counts until then. An exception from `predict` ends the process.
    """
    connection = Connection(frames.ROLE_MODEL, connected)
    shape = connection.welcome.shape
    while True:
        frame = connection.receive()
        if frame.type == frames.BYE:
            break
        images = np.frombuffer(frame.payload, np.uint8).reshape((frame.count, *shape))
        labels = np.asarray(predict(images))
        if labels.shape != (frame.count,) or labels.dtype.kind not in "iu":
            raise ValueError(
                "predict returned {} of shape {} for {} images; it must return one integer label for each".format(
                    labels.dtype, labels.shape, frame.count
                )
            )
        connection.send(frames.LABELS, frame.count, frame.sequence, _encode(labels.tolist()))
    connection.close()


def _encode(labels: List[int]) -> bytes:
    layout = "<{}h".format(len(labels))
    try:
        return struct.pack(layout, *labels)
    except struct.error:
        # what int16 cannot hold is no valid label either way; clipping keeps it invalid instead of wrapping round
        return struct.pack(layout, *[min(max(label, -1), 32767) for label in labels])
