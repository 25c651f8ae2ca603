"""A model that does nothing, served by the SDK: what is left is the harness."""

from __future__ import annotations

import numpy as np

from gauntlet import serve_model

serve_model(lambda images: np.zeros(len(images), np.int16))
