"""Options that several subcommands share, and the objects that they select."""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from evaluation.builder.docker_build_settings import build_settings_from_environment
from evaluation.builder.installed_layer_cache import InstalledLayerCache
from evaluation.cli.competition_option import BUNDLED_SOURCE, given_competition
from evaluation.cli.output import say
from evaluation.cli.positive_number import positive
from evaluation.datasets.base import Dataset, with_targets
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal, Refusal
from evaluation.domain.players import QueryPlayer
from evaluation.domain.samples import Sample
from evaluation.formats.query.format import Query
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.submissions_2018.builders import any_year_builder
from evaluation.formats.registry import all_bundled, require_format
from evaluation.sandbox.base import Sandbox
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_sandbox import ProcessSandbox
from evaluation.sandbox.state_directory import state_directory

MOST_QUERIES = 1_000_000

MOST_PIECE_SAMPLES = 64

MOST_SAMPLES = 65_536
"""Sample numbers are 16 bits wide on the wire."""

TARGET_SEED = 2018
"""Seed of target classes for data sets without them; fixed, so that all local results are comparable."""


def submission(text: str) -> Path:
    """Parse the directory of a submission or, if there is none, the name of a bundled one, for argparse."""
    path = Path(text)
    for baseline in all_bundled():
        # a folder of the catalogue has only a part of the files
        if path.resolve() == baseline.source or (text == baseline.name and not path.is_dir()):
            return baseline.repository()
    if not path.is_dir():
        near = get_close_matches(text, [baseline.name for baseline in all_bundled()], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise argparse.ArgumentTypeError(f"{text} is not a directory, and no bundled submission has this name{hint}")
    return path


def budget(text: str) -> int:
    """Parse a query budget, for argparse; it is limited, since the referee records every query of a piece."""
    number = positive(text)
    if number > MOST_QUERIES:
        raise argparse.ArgumentTypeError(f"must be at most {MOST_QUERIES:,}")
    return number


def sizes(text: str) -> tuple[int, ...]:
    """Parse sizes of pieces, for argparse: from 1 to the most samples of a piece."""
    found = tuple(map(positive, text.split(",")))
    if max(found) > MOST_PIECE_SAMPLES:
        raise argparse.ArgumentTypeError(f"a piece has at most {MOST_PIECE_SAMPLES} samples")
    return found


def results_directory(path: Path) -> Path:
    """Create `path` before anything is played, and return it. Raise `Refusal` if it is not writable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot write results to {path}: {error.strerror}", fix="name another directory") from None
    if not os.access(path, os.W_OK):
        raise Refusal(f"{path} is not writable", fix="name another directory")
    return path


def add_sandbox(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--sandbox",
        choices=("process", "docker"),
        default="process",
        help="process: fast, for code you trust (default); docker: isolated, for untrusted code",
    )
    command.add_argument("--seed", type=int, default=0, help="seed that makes a match repeatable (default 0)")


def add_samples(
    command: argparse.ArgumentParser, *, split: str, samples: int | None, queries: int, samples_note: str = ""
) -> None:
    """Add the options that choose samples and rules. `samples_note` follows the default number in the help."""
    command.add_argument(
        "--dataset",
        default=BUNDLED_SOURCE,
        help="digits (default), tiny-imagenet:DIR, cifar10:DIR, nips2017:DIR, folder:DIR or released:FILE.zip",
    )
    command.add_argument("--split", help=f"split of the data set (default {split}, or the only one)")
    default = f"{samples}{samples_note}, or all if there are fewer" if samples else "all"
    command.add_argument("--samples", type=positive, metavar="N", help=f"number of samples (default {default})")
    command.set_defaults(default_split=split, default_samples=samples)
    command.add_argument("--budget", type=budget, default=queries, help=f"queries per sample (default {queries:,})")
    command.set_defaults(default_budget=queries)


@dataclass(frozen=True, eq=False)
class Chosen:
    """The samples and rules of a match."""

    rules: QueryRules
    samples: tuple[Sample, ...]
    dataset: Dataset
    split: str

    def first(self, most: int) -> tuple[Sample, ...]:
        """Return at most the first `most` samples of the split, with target classes."""
        return with_targets(self.dataset.first(self.split, most), self.dataset.classes, TARGET_SEED)


def chosen_samples(given: argparse.Namespace) -> Chosen:
    """Return the samples, with target classes, and the rules of the options. Raise `DatasetRefusal`."""
    dataset, split, samples = samples_of(given, MOST_SAMPLES + 1)
    if (competition := given_competition(given)) is not None:
        return Chosen(competition.rules_as(QueryRules), samples, dataset, split)
    if len(samples) > MOST_SAMPLES:
        raise Refusal(f"a match allows at most {MOST_SAMPLES:,} samples", fix=f"add --samples {MOST_SAMPLES}")
    rules = QueryRules(shape=dataset.shape, classes=dataset.classes, query_budget=given.budget or given.default_budget)
    return Chosen(rules, samples, dataset, split)


def samples_of(given: argparse.Namespace, most: int | None = None) -> tuple[Dataset, str, tuple[Sample, ...]]:
    """Return the data set, the split and the samples of the options, with target classes. Raise `DatasetRefusal`.

    No more than `most` are read; those of a competition are as many as it has.
    """
    if (competition := given_competition(given)) is not None:
        dataset, split, samples = competition.read_samples(given.dataset)
        return dataset, split, samples[: given.samples]
    dataset = load_dataset(given.dataset or BUNDLED_SOURCE)
    split = given.split or default_split(dataset, given.default_split)
    if given.samples is not None:
        samples = dataset.samples(split, given.samples if most is None else min(given.samples, most))
    else:
        samples = dataset.first(split, given.default_samples or most)
    return dataset, split, with_targets(samples, dataset.classes, TARGET_SEED)


def default_split(dataset: Dataset, usual: str) -> str:
    """Return the split `usual`, or the only one. Raise `DatasetRefusal` if that leaves a choice."""
    if usual in dataset.splits:
        return usual
    if len(dataset.splits) == 1:
        return next(iter(dataset.splits))
    raise DatasetRefusal(
        f"{dataset.name} has no split {usual!r}", fix=f"name one of its splits: --split {' or '.join(dataset.splits)}"
    )


def require_distinct_names(names: Sequence[str]) -> None:
    """Raise `Refusal` if two players have one name."""
    for name in names:
        if names.count(name) > 1:
            raise Refusal(f"two players have the name {name}", fix="rename one of the directories")


def open_sandbox(name: str) -> Sandbox:
    """Return the sandbox of that name, without leftovers. Raise `HostRefusal` if this host lacks one of its guards."""
    if name == "docker":
        docker = DockerSandbox()
        docker.require_guards()
        docker.sweep()
        return docker
    process = ProcessSandbox()
    if not process.bubblewrapped:
        _say_once("bubblewrap does not work on this host: players run with all your rights, see: gauntlet doctor")
    process.sweep()
    return process


@functools.cache
def _say_once(text: str) -> None:
    say(text)


def installed_layers() -> InstalledLayerCache | None:
    """Return the cache of what builds of this user install; None if `GAUNTLET_BUILD_CACHE_DAYS` is 0."""
    limits = build_settings_from_environment().cache
    return InstalledLayerCache(state_directory("installed-layers"), "local", limits) if limits.days else None


def build_players(directories: Sequence[Path], sandbox: str) -> list[QueryPlayer]:
    """Build each submission of the query format for that sandbox; log lines go to standard error as they appear.

    Players are named after their directories: titles may be long, or equal.
    """
    require_format(directories, Query.name)
    builder = any_year_builder(sandbox, cache=installed_layers() if sandbox == "docker" else None)
    built = [builder.build(directory, on_log=lambda line: say(f"  {line}")) for directory in directories]
    return [replace(player, name=path.resolve().name) for player, path in zip(built, directories, strict=True)]
