"""The logger of the package, under its name of 2018."""

from __future__ import annotations

import logging

logger = logging.getLogger("adversarial_vision_challenge")
