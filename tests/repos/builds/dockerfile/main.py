from __future__ import annotations

import os

import beside
from gauntlet import serve_model

print("player runs", callable(serve_model), beside.WORD, os.getuid() == 65534)
print("its build saw", open("seen.txt").read())
