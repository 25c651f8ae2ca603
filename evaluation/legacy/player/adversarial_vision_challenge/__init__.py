"""Stand-in for the package of the Adversarial Vision Challenge 2018: its names, over the frames of this arena.

Programs of 2018 import it unchanged. It needs numpy and the module `gauntlet` alone, in Python 3.8 or newer.
"""

from __future__ import annotations

from adversarial_vision_challenge.client import TinyImageNetBSONModel
from adversarial_vision_challenge.notifier import AttackNotifications, ModelNotifications
from adversarial_vision_challenge.server import model_server
from adversarial_vision_challenge.utils import (
    attack_complete,
    get_test_data,
    load_model,
    read_images,
    store_adversarial,
)
from avc2018.unhandled_exception import end_after_unhandled_exceptions

__version__ = "1.0.5"

__all__ = [
    "AttackNotifications",
    "ModelNotifications",
    "TinyImageNetBSONModel",
    "attack_complete",
    "get_test_data",
    "load_model",
    "model_server",
    "read_images",
    "store_adversarial",
]

end_after_unhandled_exceptions()
