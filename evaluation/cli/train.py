"""`gauntlet train`: training of the bundled models and of larger ones."""

from __future__ import annotations

import argparse
import time
from dataclasses import Field, asdict
from pathlib import Path
from typing import Any

from evaluation.cli.output import ERR, print_json, progress_bar, say
from evaluation.cli.positive_number import not_negative, positive

_LINE_SECONDS = 60.0
"""Time between two lines about the progress where no bar can be shown."""


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("train", help="train a model like the bundled ones")
    text = (
        "plain, noise, logit-pairing, pgd, trades, trades-ensemble, mutual-ensemble, randomised-smoothing, ddn, head, "
        "adapted-head or numpy; adp, rse, ensemble-at or deep-defense (with --arch cifar-resnet); "
        "convex (with --arch cifar-convex); "
        "guided-denoiser, feature-guided-denoiser, class-guided-denoiser, attack-network or "
        "hinted-attack-network (transfer format)"
    )
    command.add_argument("recipe", help=text)
    command.add_argument(
        "--arch",
        default="small",
        help=(
            "small (default), compact, resnet18, resnet50, cifar-resnet, cifar-denoising, cifar-convex; "
            "head: efficientnet-lite0, efficientnet-lite1, efficientnet-lite2-smoothed; adapted-head: the last two"
        ),
    )
    command.add_argument(
        "--dataset",
        default="digits",
        help="digits (default), or tiny-imagenet:DIR, cifar10:DIR or folder:DIR",
    )
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory of weights and report")
    command.add_argument("--seed", type=not_negative, default=0, help="random seed (default 0)")
    command.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    command.add_argument("--precision", default="auto", help="auto (default), float32, bfloat16 or float16")
    command.add_argument("--epochs", type=positive, help="number of epochs")
    command.add_argument("--batch", type=positive, help="images of a step")
    command.add_argument("--learning-rate", type=float, metavar="RATE", help="highest learning rate")
    command.add_argument("--radius", type=float, help="radius of the adversary (pixels / 255)")
    command.add_argument(
        "--norm",
        default="l2",
        help="norm of the radius: l2 (default); linf for pgd, trades, logit-pairing and ensemble-at",
    )
    command.add_argument("--steps", type=positive, help="gradient steps of the adversary")
    command.add_argument("--start", type=Path, metavar="FILE", help="weights to begin with")
    command.add_argument(
        "--images-per-class", type=positive, metavar="N", help="images of each class for a head (default: all)"
    )
    command.add_argument(
        "--validation-samples",
        type=positive,
        metavar="N",
        help="validation images to measure the accuracy on, drawn at random (default: all)",
    )
    command.add_argument(
        "--robust-samples",
        type=not_negative,
        default=200,
        metavar="N",
        help="images to attack afterwards (default 200)",
    )
    command.add_argument("--restart", action="store_true", help="discard the checkpoint of an unfinished run")
    command.add_argument("--json", action="store_true", help="print the report as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    from evaluation.training.settings import NUMPY, Settings  # the training data take time to import

    options = {name: value for name, value in vars(given).items() if name in Settings.__dataclass_fields__}
    done, lined, begun = 0, time.monotonic(), (0, time.monotonic())
    with progress_bar(1, f"{given.recipe} on {given.dataset}: reading") as bar:

        def progress(step: int, steps: int, text: str) -> None:
            nonlocal done, lined, begun
            now = time.monotonic()
            if not done:
                begun = (step, now)
            bar.step(step - done, text=f"{given.recipe}: {text}" if text else None, total=steps)
            done = step
            if text and now - lined > _LINE_SECONDS and not ERR.is_terminal:
                left = (now - begun[1]) / max(1, step - begun[0]) * (steps - step)
                say(f"{given.recipe}: {step:,} of {steps:,} steps, {text}, {left / 60:.0f} min left")
                lined = now

        settings, command = Settings(**options), _command(given, options, Settings.__dataclass_fields__)
        if given.recipe == NUMPY:
            from evaluation.training.perceptron_run import train_numpy

            report = train_numpy(settings, given.out, progress=progress, command=command)
        else:
            from evaluation.training.train import train  # torch takes seconds to import, and may not be installed

            report = train(settings, given.out, progress=progress, command=command, restart=given.restart)
    if given.json:
        print_json(asdict(report))
        return 0
    say(f"{given.out / report.weights}: {report.parameters:,} parameters")
    if report.train_accuracy is not None and report.validation_accuracy is not None:
        say(f"accuracy: {report.train_accuracy:.1%} on train, {report.validation_accuracy:.1%} on validation")
    for name, share in report.on_attacked_images.items():
        say(f"accuracy on attacked images, {name}: {share:.1%}")
    if report.robustness is not None:
        found = report.robustness
        low, high = found.interval
        say(f"{found.attack}, {found.samples} images: median L2 {found.median_l2:.3f} ({low:.3f} to {high:.3f})")
        if found.median_l2_if_right is not None:
            say(f"median L2 of the images labelled right: {found.median_l2_if_right:.3f}")
        say(f"robust accuracy within {found.radius:g}: {found.robust_accuracy:.1%}")
    return 0


def _command(given: argparse.Namespace, options: dict[str, Any], fields: dict[str, Field[Any]]) -> str:
    """Return the command that trains the same network, without paths of this host: the report is made to be shared."""
    kind, _, path = given.dataset.partition(":")
    shown = options | {"dataset": f"{kind}:DIR" if path else kind, "start": given.start and given.start.name}
    words = ["gauntlet train", given.recipe]
    for name, value in shown.items():
        if name != "recipe" and value is not None and value != fields[name].default:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return " ".join([*words, "--out DIR"])
