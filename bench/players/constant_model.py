"""A model that computes nothing, served by the SDK: only the harness is measured."""

from __future__ import annotations

import numpy as np

from gauntlet import serve_model

serve_model(lambda images: np.zeros(len(images), np.int16))
