"""Prints what a pyproject.toml requires with the extras that are named, without its own distributions."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

_, file, *extras = sys.argv
project = tomllib.loads(Path(file).read_text(encoding="utf-8"))["project"]
needed = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
sys.stdout.writelines(f"{each}\n" for some in needed for each in some if not each.startswith("gauntlet-"))
