"""Prints what a pyproject.toml requires, without its own distributions and without optional packages."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
sys.stdout.writelines(f"{each}\n" for each in project["dependencies"] if not each.startswith("gauntlet-"))
