"""The command `python -m bench [names] [--write PAGE] [--smallest]`: runs measurements and prints their tables."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.interleaved import say
from bench.programs import NotAvailableError
from bench.report import Section, machine, write_generated, write_sections
from bench.sizes import SMALLEST_VARIABLE
from bench.static_files import COLLECTED_VARIABLE

NAMES = (
    "chain",
    "lockstep",
    "limits",
    "sandboxes",
    "memory",
    "leaderboard",
    "pages",
    "readers",
    "pushes",
    "rounds",
    "paper_rounds",
    "builds",
    "bundles",
    "two_verifiers",
    "transfer",
    "whole_site",
    "bombs",
    "claims",
    "many_workers",
    "benchmark",
)


def main() -> int:
    """Run the measurements; return 1 where one could not be made (the others are made)."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run benchmarks; Markdown tables on stdout.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which measurements: {', '.join(NAMES)}; default all")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the tables into this page")
    parser.add_argument("--smallest", action="store_true", help="run all code at the smallest size; no figure is valid")
    chosen = parser.parse_args()
    if chosen.smallest:
        if chosen.write:
            parser.error("--smallest measures nothing, so there is nothing to write: leave out --write")
        os.environ[SMALLEST_VARIABLE] = "1"  # read by the measurements when they are imported, below
    unknown = set(chosen.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown measurement {', '.join(sorted(unknown))}: choose from {', '.join(NAMES)}")
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    names = chosen.names or NAMES
    measurements = [importlib.import_module(f"bench.{name}").measure for name in names]
    texts = []
    sections: list[Section] = []
    missing = 0
    with TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        os.environ[COLLECTED_VARIABLE] = f"{folder}/static"
        for name, measure in zip(names, measurements, strict=True):
            try:
                # in a process of its own: Django reads its settings once, and each site has its own
                with ProcessPoolExecutor(1, mp_context=get_context("fork")) as own:
                    sections.append(own.submit(measure).result())
                texts.append(sections[-1].text())
            except NotAvailableError as error:
                missing += 1
                say(f"{name}: skipped. {error}")
                texts.append(f"*{name}: skipped. {error}*\n")
    text = f"{machine()}.\n\n" + "\n".join(texts)
    print(text)
    if chosen.write and chosen.names:
        write_sections(chosen.write, sections)
    elif chosen.write:
        write_generated(chosen.write, text)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
