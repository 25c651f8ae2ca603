"""`gauntlet new`: a first submission to start from, copied from a bundled one."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from evaluation.baselines.catalogue import baselines
from evaluation.cli.output import say
from evaluation.domain.errors import Refusal
from evaluation.domain.players import Track

_STARTS = {"model": "numpy-classifier", "attack": "gaussian-noise"}


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("new", help="start a submission of your own")
    command.add_argument("side", choices=("model", "attack"))
    command.add_argument("directory", type=Path, metavar="DIR")
    names = ", ".join(baseline.name for baseline in baselines())
    command.add_argument("--like", metavar="NAME", help=f"which bundled submission to copy, one of: {names}")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    wanted = given.like or _STARTS[given.side]
    found = {baseline.name: baseline for baseline in baselines()}
    if wanted not in found:
        raise Refusal(f"no bundled submission is called {wanted}", fix="`gauntlet baselines` lists them")
    source = found[wanted]
    if (source.track is Track.MODEL) != (given.side == "model"):
        raise Refusal(f"{wanted} is of the {source.track} track", fix=f"name one of the {given.side}s")
    if given.directory.exists() and (not given.directory.is_dir() or any(given.directory.iterdir())):
        raise Refusal(f"{given.directory} exists and is not empty", fix="name a new directory")
    shutil.copytree(source.path, given.directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    say(f"{given.directory} is a copy of {wanted}. Change main.py, then:  gauntlet check {given.directory}")
    return 0
