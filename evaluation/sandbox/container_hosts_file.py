"""The file /etc/hosts of a container, which an engine writes only for one with a network."""

from __future__ import annotations

from pathlib import Path

from evaluation.sandbox.labelled_directory import make_labelled, remove_labelled, sweep_labelled
from evaluation.sandbox.player_environment import HOSTS

_PREFIX = "gauntlet-hosts-"


def make_hosts_file() -> Path:
    """Return a fresh file, for one container alone: one that players share would pass notes between them.

    `remove_hosts_file` removes it, `sweep_hosts_files` after the death of this process.
    """
    file = make_labelled(_PREFIX) / "hosts"
    file.write_text(HOSTS, encoding="utf-8")
    file.chmod(0o644)  # a container runs as another user
    return file


def remove_hosts_file(file: Path) -> None:
    """Remove the file, and the directory made for it."""
    remove_labelled(file.parent)


def sweep_hosts_files() -> int:
    """Remove the files that dead processes of this host left. Return their number."""
    return sweep_labelled(_PREFIX)
