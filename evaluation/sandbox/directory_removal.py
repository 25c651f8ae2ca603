"""Removal of directories that players filled."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


def remove_trees(trees: Sequence[Path]) -> bool:
    """Remove `trees`, also where their user has no permission for a directory; return False if something is left.

    A player may nest directories deeper than `shutil.rmtree` can follow. `rm` and `chmod` take trees of any depth, and
    follow no links; they are only started where something is left.
    """
    for tree in trees:
        try:
            shutil.rmtree(tree, ignore_errors=True)
        except RecursionError:
            continue
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        if left := [str(tree) for tree in trees if tree.exists()]:
            subprocess.run([*command, "--", *left], check=False, capture_output=True)
    return not any(tree.exists() for tree in trees)
