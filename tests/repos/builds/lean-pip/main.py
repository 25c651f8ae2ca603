from __future__ import annotations

import os

import numpy
import six
from gauntlet import serve_model

print("player runs", callable(serve_model), six.PY3, os.getuid() == 65534)
