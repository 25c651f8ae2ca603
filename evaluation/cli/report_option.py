"""The option `--report`: one HTML page about what was played."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.cli.output import say
from evaluation.datasets.base import Dataset
from evaluation.domain.errors import Refusal
from evaluation.domain.samples import Sample

if TYPE_CHECKING:
    from evaluation.report.page import Context


def add_report(command: argparse.ArgumentParser) -> None:
    command.add_argument("--report", type=Path, metavar="FILE.html", help="write a page with charts and images to FILE")


def require_writable(file: Path | None) -> None:
    """Raise `Refusal` if the page cannot be written, before anything is played."""
    if file is None:
        return
    folder = file.parent
    if file.is_dir():
        raise Refusal(f"{file} is a directory", fix="name a file")
    if not folder.is_dir():
        raise Refusal(f"cannot write the report to {file}: {folder} is not a directory", fix="name another file")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise Refusal(f"{file} is not writable", fix="name another file")


def context_of(given: argparse.Namespace, dataset: Dataset, split: str, samples: Sequence[Sample]) -> Context:
    """Return how the results came about."""
    from evaluation.report.page import Context  # with Jinja2 and the charts, which other subcommands do not need

    return Context(
        samples=samples,
        class_names=dataset.class_names,
        dataset=f"{dataset.name}, {split}",
        seed=given.seed,
        command=shlex.join(["gauntlet", *given.arguments]),
    )


def write_report(page: str, file: Path) -> None:
    """Write the page, and say how large it is."""
    # file names may hold bytes that are no text
    content = page.encode("utf-8", errors="replace")
    try:
        file.write_bytes(content)
    except OSError as error:
        raise Refusal(f"cannot write the report to {file}: {error.strerror}", fix="name another file") from None
    say(f"report written to {file}, {len(content) / 1000:,.0f} kB")
