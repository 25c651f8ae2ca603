from __future__ import annotations

import os

import numpy
from gauntlet import serve_model

print("player runs", callable(serve_model), numpy.uint8(7), os.getuid() == 65534, os.access("main.py", os.R_OK), os.stat("main.py").st_uid)
