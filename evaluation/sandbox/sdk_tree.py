"""The SDK by itself: the one package of this project that a player may import, in a directory of its own."""

from __future__ import annotations

from pathlib import Path

import gauntlet
from evaluation.sandbox.module_tree import ModuleTree

_PACKAGE = Path(gauntlet.__file__).resolve().parent

SDK = ModuleTree(_PACKAGE, base=_PACKAGE.parent, kept_in="sdk")
