"""Plan of the build of a submission of 2018: what is replaced in it.

A process with limits imports this module for each plan, so it needs neither NumPy nor the Docker client.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from evaluation.builder.allowed_submission_files import tree_entries
from evaluation.formats.query.submissions_2018.program_check import check_program
from evaluation.formats.query.submissions_2018.requirements_2018 import Replacement, replacements
from evaluation.legacy.environment import LegacyEnvironment
from evaluation.legacy.player_modules import SOURCE
from evaluation.parsing.limited_process import Fields, ask_once

_MOST_NAMED = 4
"""The most replacements that an answer to a push names."""

_SECONDS, _MEMORY_BYTES = 10, 2 << 30
"""Limits of the process that reads a program: seconds of its processor, bytes of its address space."""


def plan_2018(source: Path, environment: LegacyEnvironment) -> list[Replacement]:
    """Return what is replaced in the submission of 2018 in `source`. Raise `BuildRefusal` for what cannot run.

    The files are read in a process with limits of processor time and memory; what exceeds them is a `BuildRefusal`.
    Of files other than the configuration, `run.sh` and Python's, only the first bytes matter.
    """
    answer, _ = ask_once(
        f"{__name__}:plan_request",
        {"source": str(source), "environment": str(environment.directory)},
        what="the program and its requirements",
        seconds=_SECONDS,
        memory_bytes=_MEMORY_BYTES,
    )
    return [Replacement(**each) for each in answer["replacements"]]


def plan_request(fields: Fields, _: bytes) -> tuple[Fields, bytes]:
    """Answer a request of `plan_2018`."""
    found = read_plan(Path(fields["source"]), LegacyEnvironment(Path(fields["environment"])))
    return {"replacements": [asdict(each) for each in found]}, b""


def read_plan(source: Path, environment: LegacyEnvironment) -> list[Replacement]:
    """Return the same as `plan_2018`, read in this process."""
    found = replacements(source, environment)
    check_program(source, tree_entries(source), environment, SOURCE)
    return found


def plan_line(found: list[Replacement]) -> str:
    """Return one line on how a submission of 2018 is built, for an answer to a push."""
    if len(found) > _MOST_NAMED:
        what = f"{len(found)} requirements are replaced, each with a line in the build's log"
    else:
        what = "; ".join(f"{each.asked} is replaced by {each.given}" for each in found) or "nothing is replaced"
    return f"as it is, in the legacy environment; {what}"
