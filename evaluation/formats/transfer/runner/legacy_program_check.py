"""What a submission of 2017 lacks to run in the legacy environment: found in its files, before anything is started."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from evaluation.builder.allowed_submission_files import TreeEntry, tree_entries
from evaluation.domain.errors import BuildRefusal
from evaluation.formats.transfer.runner.named_weights_check import require_loaded_weights, require_named_weights
from evaluation.legacy.environment import LegacyEnvironment
from evaluation.legacy.missing_weights import require_weights
from evaluation.legacy.player_modules import SOURCE
from evaluation.legacy.program_imports import Imports
from evaluation.legacy.shell_script_reader import started_scripts, started_shell_scripts
from evaluation.legacy.substitutions import substitution_of
from evaluation.parsing.limited_process import Fields, ask_once

_SECONDS, _MEMORY_BYTES = 10, 2 << 30
"""Limits of the process that reads a program."""

_MOST_SCRIPT_BYTES = 64 << 10
_MOST_SHELL_SCRIPTS = 100
_INTERPRETER_LINE = re.compile(r"#!.*\bpython[\d.]*\s*")
_PYTHON_2 = re.compile(r"^(?:#!.*[ /]|[ \t]*(?:exec )?)python2(?:\.\d)?\b", re.MULTILINE)


def check_program(source: Path, entry_point: str, environment: LegacyEnvironment) -> list[str]:
    """Return a line for each package that is replaced. Raise `BuildRefusal` for what keeps `entry_point` from running.

    The files are read in a process with limits of processor time and memory; what exceeds them is a `BuildRefusal`.

    1. No weights are a Git LFS pointer, or missing.
    2. The scripts that it starts are there, and the modules that they import at their start.
    3. They are Python 3.
    4. The weights that it names, and that the scripts load, are in the repository.
    """
    answer, _ = ask_once(
        f"{__name__}:check_request",
        {"source": str(source), "entry_point": entry_point, "environment": str(environment.directory)},
        what="the program",
        seconds=_SECONDS,
        memory_bytes=_MEMORY_BYTES,
    )
    return [str(line) for line in answer["lines"]]


def check_request(fields: Fields, _: bytes) -> tuple[Fields, bytes]:
    """Answer a request of `check_program`."""
    source = Path(fields["source"])
    environment = LegacyEnvironment(Path(fields["environment"]))
    return {"lines": _checked(source, tree_entries(source), fields["entry_point"], environment)}, b""


def _checked(
    source: Path, entries: Collection[TreeEntry], entry_point: str, environment: LegacyEnvironment
) -> list[str]:
    paths = {str(entry.path) for entry in entries}
    texts = _shell_scripts(source, entry_point, paths)
    for name, text in texts.items():
        if _PYTHON_2.search(text):
            raise BuildRefusal(
                f"{name}: starts python2, which the legacy environment does not have",
                fix="start python3, and convert the code to Python 3",
            )
    require_weights(source, entries, paths)
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    imports = Imports(source, paths, folders, environment, SOURCE)
    itself = _INTERPRETER_LINE.match(texts[entry_point]) is not None
    started = [script for name, text in texts.items() for script in started_scripts(text, name, paths, folders)]
    scripts = [entry_point] if itself else list(dict.fromkeys(started))
    for script in scripts:
        imports.check(script)
        if script in imports.trees:
            require_loaded_weights(imports.trees[script], script, paths)
    if not itself:
        require_named_weights(texts, paths, imports.trees.values())
    unread = [f"{entry_point}: no Python script is recognised in it, so its program is first seen when it runs"]
    return [*_replaced(imports), *(unread if not scripts else [])]


def _shell_scripts(source: Path, entry_point: str, paths: Collection[str]) -> dict[str, str]:
    """Return the texts of the entry point and of the shell scripts that it starts, by name."""
    texts: dict[str, str] = {}
    waiting = [entry_point]
    while waiting and len(texts) < _MOST_SHELL_SCRIPTS:
        name = waiting.pop()
        if name in texts or not (source / name).is_file():  # a link may lead to a folder, or nowhere
            continue
        with (source / name).open("rb") as file:
            texts[name] = file.read(_MOST_SCRIPT_BYTES).decode("utf-8", "replace")
        waiting += started_shell_scripts(texts[name], paths)
    return texts


def _replaced(imports: Imports) -> list[str]:
    rows = [(place, name, substitution_of(name)) for name, place in imports.used.items()]
    return [f"{place}: {name} is replaced by {row.given} ({row.why})" for place, name, row in rows if row]
