"""`gauntlet data`: preparation and check of data sets."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluation.cli.output import print_json, progress_bar, say
from evaluation.datasets.load import load_dataset
from evaluation.datasets.prepared_store import Store, is_store, prepare
from evaluation.domain.errors import Refusal


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("data", help="prepare and check data sets")
    actions = command.add_subparsers(metavar="ACTION", required=True)
    preparing = actions.add_parser("prepare", help="check every image and write one store, which opens at once")
    preparing.add_argument(
        "source", metavar="SOURCE", help="tiny-imagenet:DIR, cifar10:DIR, nips2017:DIR or folder:DIR"
    )
    preparing.add_argument("directory", type=Path, metavar="DIR", help="the store, a new folder")
    preparing.add_argument("--json", action="store_true", help="print the summary as JSON")
    preparing.set_defaults(run=run_prepare)
    checking = actions.add_parser("check", help="read every image of a data set or a store, and name what is damaged")
    checking.add_argument("source", metavar="SOURCE", help="as for prepare; DIR may be a store")
    checking.set_defaults(run=run_check)


def run_prepare(given: argparse.Namespace) -> int:
    dataset = load_dataset(given.source)
    kind, _, path = given.source.partition(":")
    if not path or is_store(Path(path).expanduser()):
        raise Refusal(f"{given.source} needs no preparation", fix="name the folder of a data set as it was published")
    with progress_bar(1, f"preparing {given.source}") as bar:
        store = prepare(
            dataset, kind, given.directory, on_image=lambda split, total: bar.step(total=total, text=f"{kind}, {split}")
        )
    if given.json:
        print_json(asdict(store))
    else:
        _say_summary(given.directory, store)
    return 0


def run_check(given: argparse.Namespace) -> int:
    dataset = load_dataset(given.source)
    readings = {split: dataset.read(split) for split in dataset.splits}
    with progress_bar(sum(reading.size for reading in readings.values()), f"checking {given.source}") as bar:
        for split, reading in readings.items():
            for _ in reading.samples:
                bar.step(text=f"{dataset.name}, {split}")
    sizes = ", ".join(f"{split} {reading.size:,}" for split, reading in readings.items())
    say(f"{given.source}: every image is there and readable ({sizes})")
    return 0


def _say_summary(directory: Path, store: Store) -> None:
    height, width, channels = store.shape
    say(f"{directory}: {store.kind}, {store.classes} classes, {height} x {width} x {channels}, {store.bytes:,} bytes")
    for split, size in store.splits.items():
        say(f"  {split}: {size:,} images")
    if store.repeated:
        say(f"  {store.repeated:,} images have the same bytes as an earlier one")
    say(f"  SHA-256 {store.sha256}")
    say(f"Use it: --dataset {store.kind}:{directory}")
