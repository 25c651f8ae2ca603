"""Serve a classifier: its labels and, if it offers them, its scores and gradients."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from gauntlet import frames
from gauntlet.connection import Connection, Frame

Predict = Callable[[Any], Any]
Gradients = Callable[[Any, Any], Any]


def serve_model(
    predict: Predict,
    *,
    scores: Optional[Predict] = None,
    gradients: Optional[Gradients] = None,
    connected: Optional[socket.socket] = None,
) -> None:
    """Answer the referee's images with `predict` until the match is over.

    `predict` takes uint8 (n, height, width, 3), n from 1 to 64, and returns n integer labels. It must be a pure
    function of each image by itself: no state, no randomness, no look at the rest of the batch; this is audited.
    The array is valid during the call: the next images are written into the same memory.
    Load weights before calling: set-up time counts until then. An exception from a function ends the process.

    Competitions of the curves format may ask for more, of models that offer it. `scores` takes the same images and
    returns floats (n, classes), such as logits; the label must be the class of the highest. `gradients` takes images
    and weights of their scores, float32 (n, classes), and returns floats of the shape of the images: the gradient of
    sum(weights * scores) by the values of the images, from 0 to 255 (a vector-Jacobian product). Gradients of any loss
    follow from it, so the function needs no label and no loss. It can be offered only with `scores`.
    """
    if gradients is not None and scores is None:
        raise ValueError("gradients are offered without scores; give serve_model both functions")
    offers = (frames.OFFERS_SCORES if scores else 0) | (frames.OFFERS_GRADIENTS if gradients else 0)
    connection = Connection(frames.ROLE_MODEL, connected, offers=offers)
    shape, classes = connection.welcome.shape, connection.welcome.classes
    while True:
        frame = connection.receive()
        if frame.type == frames.BYE:
            break
        if frame.type == frames.PREDICT:
            kind, answer = frames.LABELS, _labels(predict, _images(frame, 0, shape))
        elif frame.type == frames.ASK_SCORES and scores is not None:
            kind, answer = frames.SCORES, _floats("scores", scores(_images(frame, 0, shape)), (frame.count, classes))
        elif frame.type == frames.ASK_GRADIENTS and gradients is not None:
            size = 4 * frame.count * classes
            weights = np.frombuffer(frame.payload[:size], "<f4").reshape((frame.count, classes))
            images = _images(frame, size, shape)
            kind, answer = frames.GRADIENTS, _floats("gradients", gradients(images, weights), images.shape)
        else:
            raise RuntimeError("the referee sent a frame of type {}, which is not offered".format(frame.type))
        connection.send(kind, frame.count, frame.sequence, answer)
    connection.close()


def _images(frame: Frame, offset: int, shape: Tuple[int, int, int]) -> np.ndarray:
    return np.frombuffer(frame.payload[offset:], np.uint8).reshape((frame.count, *shape))


def _labels(predict: Predict, images: np.ndarray) -> bytes:
    labels = np.asarray(predict(images))
    if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
        raise ValueError(
            "predict{} returned {} of shape {} for {} images; it must return one integer label for each".format(
                _place(predict), labels.dtype, labels.shape, len(images)
            )
        )
    return _encode(labels.tolist())


def _floats(name: str, answer: Any, shape: Tuple[int, ...]) -> bytes:
    """Return numbers as they are sent. Raises ValueError for another shape, for NaN and for infinity."""
    array = np.asarray(answer)
    if array.shape != shape or array.dtype.kind not in "fiu":
        raise ValueError(
            "{} returned {} of shape {}; it must return numbers of shape {}".format(
                name, array.dtype, array.shape, shape
            )
        )
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
        sent = array.astype("<f4")
    if not np.isfinite(sent).all():
        raise ValueError("{} returned NaN or infinity; every number must be finite in single precision".format(name))
    return sent.tobytes()


def _place(function: Callable[..., Any]) -> str:
    """Return where a function begins, such as " (main.py, line 7)": the traceback shows only who called this module."""
    code = getattr(function, "__code__", None)
    if code is None:  # an object that can be called, or a function in C
        return ""
    path = os.path.relpath(code.co_filename)
    return " ({}, line {})".format(path.rpartition("/")[2] if path.startswith("..") else path, code.co_firstlineno)


def _encode(labels: List[int]) -> bytes:
    layout = "<{}h".format(len(labels))
    try:
        return struct.pack(layout, *labels)
    except struct.error:
        # what int16 cannot hold is no valid label either way; clipping keeps it invalid instead of wrapping round
        return struct.pack(layout, *[min(max(label, -1), 32767) for label in labels])
