"""Builders that also build submissions of earlier years."""

from __future__ import annotations

import hashlib
from pathlib import Path

from evaluation.builder.base import Builder, LogLine
from evaluation.builder.choose_builder import choose_builder
from evaluation.builder.layer_store import LayerStore
from evaluation.builder.source_tree import tree_entries
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import BuildRefusal
from evaluation.domain.players import Player
from evaluation.legacy.crowdai import FILE_NAME, is_2018, read_submission
from evaluation.legacy.environment import VARIABLE, LegacyEnvironment, legacy_environment
from evaluation.legacy.licence_file import UNKNOWN
from evaluation.legacy.player_modules import SOURCE, START, modules_digest, modules_tree
from evaluation.legacy.program_check import check_program
from evaluation.legacy.requirements_2018 import Replacement, replacements


class LegacyBuilder(Builder):
    """Makes players of checkouts of 2018 for the process sandbox; any other submission goes to the usual builder."""

    def __init__(self, usual: Builder, environment: LegacyEnvironment | None) -> None:
        """Take the legacy environment of this host; None if it has none."""
        self._usual = usual
        self._environment = environment

    def build(self, source: Path, *, on_log: LogLine) -> Player:
        """Return the checkout `source` as a player; everything that is replaced is a line of the log."""
        if not is_2018(source):
            return self._usual.build(source, on_log=on_log)
        digest = tree_digest(source)
        submission = read_submission(source)
        environment = require_environment(self._environment)
        for replacement in plan_2018(source, environment):
            on_log(str(replacement))
        on_log(f"a submission of 2018: {submission.track} track, licence {_licence_text(submission.licence)}")
        modules = modules_tree()
        whole = hashlib.sha256(f"{digest}\n{environment.digest()}\n{modules_digest()}".encode()).hexdigest()
        return Player(
            name=submission.title,
            track=submission.track,
            command=(str(environment.python), "-u", str(modules / START), str(submission.track.side)),
            digest=f"sha256:{whole}",
            directory=source.resolve(),
            readable=(modules, *environment.readable()),
        )

    def check_host(self) -> None:
        self._usual.check_host()


def plan_line(found: list[Replacement]) -> str:
    """Return one line on how a submission of 2018 is built, for an answer to a push."""
    what = "; ".join(f"{each.asked} is replaced by {each.given}" for each in found)
    return f"as it is, in the legacy environment; {what or 'nothing is replaced'}"


def require_environment(environment: LegacyEnvironment | None) -> LegacyEnvironment:
    """Return the legacy environment. Raise `BuildRefusal` if this host has none."""
    if environment is None:
        raise BuildRefusal(
            f"{FILE_NAME}: a submission of 2018 needs the legacy environment, which this host does not have",
            fix=f"an operator runs `gauntlet legacy-environment DIR` and sets {VARIABLE}=DIR; or add a submission.toml",
        )
    return environment


def plan_2018(source: Path, environment: LegacyEnvironment) -> list[Replacement]:
    """Return what is replaced in the submission of 2018 in `source`. Raise `BuildRefusal` for what cannot run.

    Of files other than the configuration, `run.sh` and Python's, only the first bytes matter.
    """
    found = replacements(source, environment)
    check_program(source, tree_entries(source), environment, SOURCE)
    return found


def any_year_builder(sandbox_name: str, store: LayerStore | None = None) -> Builder:
    """Return the builder for a sandbox, for submissions of any year; arguments and errors of `choose_builder`."""
    usual = choose_builder(sandbox_name, store)
    return LegacyBuilder(usual, legacy_environment()) if sandbox_name == "process" else usual


def _licence_text(licence: str) -> str:
    return "unknown, so it is not eligible for a final" if licence == UNKNOWN else licence
