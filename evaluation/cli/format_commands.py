"""What each format does in the commands that play or check submissions."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from evaluation.cli import query_commands, query_submission_check, transfer_commands, transfer_submission_check
from evaluation.domain.smoke_test_result import SmokeTestResult
from evaluation.formats.query.format import Query
from evaluation.formats.registry import formats
from evaluation.formats.transfer.format import Transfer

if TYPE_CHECKING:
    from evaluation.cli.format_replay_interface import ReplayableRound
    from evaluation.cli.released_round import ReleasedRound


def _no_options(command: argparse.ArgumentParser) -> None:
    """Add nothing: the options that all formats have are enough."""


class FormatCommands(NamedTuple):
    """The commands of one format."""

    help: str
    """What the format is, in a few words."""
    play: Callable[[argparse.Namespace], int]
    """Run `gauntlet play`; return the exit status."""
    tournament: Callable[[argparse.Namespace], int]
    """Run `gauntlet tournament`; return the exit status."""
    smoke_test: Callable[[argparse.Namespace], SmokeTestResult]
    """Build the submission of `gauntlet check` and test it."""
    add_options: Callable[[argparse.ArgumentParser], None] = _no_options
    """Add the options to play and tournament that only this format has."""


_COMMANDS = {
    Query.name: FormatCommands(
        "attacks may query the model",
        query_commands.play_one,
        query_commands.play_all_of,
        query_submission_check.smoke_test,
    ),
    Transfer.name: FormatCommands(
        "NIPS 2017, directories of images, no query",
        transfer_commands.play_one,
        transfer_commands.play_all_of,
        transfer_submission_check.smoke_test,
        transfer_commands.add_options,
    ),
}


def replayable_round(name: str) -> Callable[[ReleasedRound, str | None], ReplayableRound]:
    """Return what opens a released round of the format with this name."""
    if name == Query.name:
        from evaluation.cli.query_replay import QueryReplayableRound

        return QueryReplayableRound
    if name == Transfer.name:
        from evaluation.cli.transfer_replay import TransferReplayableRound

        return TransferReplayableRound
    from evaluation.cli.curves_replay import CurvesReplayableRound

    return CurvesReplayableRound


def commands_of(name: str) -> FormatCommands:
    """Return the commands of the format with this name."""
    return _COMMANDS[name]


def add_format(command: argparse.ArgumentParser) -> None:
    """Add the choice of the format, and the options of each, to `command`."""
    default, *others = (each.name for each in formats)
    texts = [f"{default}: {_COMMANDS[default].help} (default)", *(f"{name}: {_COMMANDS[name].help}" for name in others)]
    command.add_argument("--format", choices=(default, *others), default=default, help="; ".join(texts))
    for commands in _COMMANDS.values():
        commands.add_options(command)
