"""The functions that attacks of 2018 call."""

from __future__ import annotations

import os
from typing import Any, List, Tuple

import numpy as np

from adversarial_vision_challenge.client import TinyImageNetBSONModel
from adversarial_vision_challenge.common import check_image
from avc2018.session import session


def load_model() -> TinyImageNetBSONModel:
    """Return the model. Nothing is sent yet: programs load their own networks between this and `read_images`."""
    return TinyImageNetBSONModel(
        "http://{}:{}".format(os.getenv("MODEL_SERVER", "localhost"), os.getenv("MODEL_PORT", "8989"))
    )


def read_images() -> List[Tuple[str, np.ndarray, int]]:
    """Return the samples: file name, image as float32 in 0..255, and true label or, in the targeted track, target."""
    return session().images()


def store_adversarial(file_name: str, adversarial: Any) -> None:
    """Store the answer for one sample; None is none. An image that was never queried is queried: it costs one query."""
    image = None if adversarial is None else check_image(adversarial)
    session().store(file_name, image)
    folder = os.environ.get("OUTPUT_ADVERSARIAL_PATH")
    if folder and image is not None:
        np.save(os.path.join(folder, os.path.splitext(os.path.basename(file_name))[0]), image)


def attack_complete() -> None:
    """Say that the attack is done."""
    session().complete()


def get_test_data() -> List[Tuple[np.ndarray, int]]:
    """Raise RuntimeError: the 500 test images of 2018 belong to its package, and are not part of this stand-in."""
    raise RuntimeError("get_test_data: the test images of 2018 are not part of this arena; add what you need as files")
