"""`gauntlet train`: training of the bundled models and of larger ones."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluation.cli.options import positive
from evaluation.cli.output import print_json, progress_bar, say


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("train", help="train a model like the bundled ones")
    command.add_argument("recipe", help="plain, adversarial, noise or numpy")
    command.add_argument("--arch", default="small", help="small (default), resnet18 or resnet50")
    command.add_argument(
        "--dataset", default="digits", help="digits (default), tiny-imagenet:DIR, cifar10:DIR or folder:DIR"
    )
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory of weights and report")
    command.add_argument("--seed", type=int, default=0, help="random seed (default 0, as for the bundled weights)")
    command.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    command.add_argument("--epochs", type=positive, help="number of epochs (default: that of the recipe)")
    command.add_argument("--json", action="store_true", help="print the report as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    from evaluation.training.train import train  # torch takes seconds to import; other subcommands do not need it

    done = 0
    with progress_bar(100, f"{given.recipe} on {given.dataset}") as bar:

        def progress(step: int, steps: int, text: str) -> None:
            nonlocal done
            percent = 100 * step // steps
            bar.step(percent - done, text=f"{given.recipe}: {text}")
            done = percent

        report = train(
            recipe=given.recipe,
            arch=given.arch,
            dataset=given.dataset,
            out=given.out,
            seed=given.seed,
            device=given.device,
            epochs=given.epochs,
            progress=progress,
        )
    if given.json:
        print_json(asdict(report))
    else:
        say(f"{given.out / report.weights}: {report.parameters:,} parameters")
        say(f"accuracy: {report.train_accuracy:.1%} on train, {report.validation_accuracy:.1%} on validation")
    return 0
