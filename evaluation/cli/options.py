"""Options that several subcommands share, and what they stand for."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.builder.choose_builder import choose_builder
from evaluation.cli.output import say
from evaluation.datasets.base import Dataset, with_targets
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal, Refusal
from evaluation.domain.players import Player
from evaluation.domain.rules import QueryRules
from evaluation.domain.samples import Sample
from evaluation.sandbox.base import Sandbox
from evaluation.sandbox.docker import DockerSandbox
from evaluation.sandbox.process import ProcessSandbox

MOST_QUERIES = 1_000_000

MOST_SAMPLES = 65_536
"""Sample numbers are 16 bits wide on the wire."""

TARGET_SEED = 2018
"""Draws the target classes where a data set brings none; fixed, so that all local results can be compared."""


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def directory(text: str) -> Path:
    """A directory that exists, for argparse."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no directory")
    return path


def budget(text: str) -> int:
    """A query budget, for argparse: bounded, since the referee keeps a record of every query of a piece."""
    number = positive(text)
    if number > MOST_QUERIES:
        raise argparse.ArgumentTypeError(f"must be at most {MOST_QUERIES:,}")
    return number


def results_directory(path: Path) -> Path:
    """`path`, made if need be before anything is played. Raises `Refusal` where nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"no results can be written to {path}: {error.strerror}", fix="name another directory") from None
    if not os.access(path, os.W_OK):
        raise Refusal(f"no results can be written to {path}", fix="name another directory")
    return path


def add_sandbox(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--sandbox",
        choices=("process", "docker"),
        default="process",
        help="process: quick, for code you trust (default); docker: isolated, for anybody's",
    )
    command.add_argument("--seed", type=int, default=0, help="repeats a match exactly (default 0)")


def add_samples(command: argparse.ArgumentParser, *, split: str, samples: int | None, queries: int) -> None:
    command.add_argument(
        "--dataset",
        default="digits",
        help="digits (default), tiny-imagenet:DIR, nips2017:DIR or folder:DIR",
    )
    command.add_argument("--split", help=f"which split (default {split}, or the only one)")
    every = f"{samples}, or all where there are fewer" if samples else "all"
    command.add_argument("--samples", type=positive, metavar="N", help=f"how many (default {every})")
    command.set_defaults(default_split=split, default_samples=samples)
    command.add_argument("--budget", type=budget, default=queries, help=f"queries a sample (default {queries:,})")


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a match is played on and under."""

    rules: QueryRules
    samples: tuple[Sample, ...]
    dataset: Dataset
    split: str

    def first(self, most: int) -> tuple[Sample, ...]:
        """The first `most` samples of the split, with target classes, or as many as there are."""
        return with_targets(self.dataset.first(self.split, most), self.dataset.classes, TARGET_SEED)


def chosen_samples(given: argparse.Namespace) -> Chosen:
    """The samples, with target classes, and the rules that the options ask for. Raises `DatasetRefusal`."""
    dataset = load_dataset(given.dataset)
    split = given.split or _default_split(dataset, given.default_split)
    if given.samples is not None:
        found = dataset.samples(split, min(given.samples, MOST_SAMPLES + 1))
    else:
        found = dataset.first(split, given.default_samples or MOST_SAMPLES + 1)
    if len(found) > MOST_SAMPLES:
        raise Refusal(f"a match takes at most {MOST_SAMPLES:,} samples", fix=f"add --samples {MOST_SAMPLES}")
    rules = QueryRules(shape=dataset.shape, classes=dataset.classes, query_budget=given.budget)
    return Chosen(rules, with_targets(found, dataset.classes, TARGET_SEED), dataset, split)


def _default_split(dataset: Dataset, usual: str) -> str:
    if usual in dataset.splits:
        return usual
    if len(dataset.splits) == 1:
        return next(iter(dataset.splits))
    raise DatasetRefusal(
        f"{dataset.name} has no split {usual!r}", fix=f"name one of its splits: --split {' or '.join(dataset.splits)}"
    )


def open_sandbox(name: str) -> Sandbox:
    """The sandbox of that name, swept of leftovers. Raises `HostRefusal` where this host lacks one of its guards."""
    if name == "docker":
        docker = DockerSandbox()
        docker.require_guards()
        docker.sweep()
        return docker
    process = ProcessSandbox()
    process.sweep()
    return process


def build_players(directories: Sequence[Path], sandbox: str) -> list[Player]:
    """Build each submission for that sandbox; log lines go to standard error as they appear.

    Here a player is called like its directory: titles may be long, and equal.
    """
    builder = choose_builder(sandbox)
    built = [builder.build(directory, on_log=lambda line: say(f"  {line}")) for directory in directories]
    return [replace(player, name=path.resolve().name) for player, path in zip(built, directories, strict=True)]
