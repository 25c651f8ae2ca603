"""`gauntlet replay`: a match of a released round, played again offline and compared with its signed rows."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluation.cli.format_replay_interface import (
    ReleasedMatch,
    ReplayableRound,
    Replayed,
    ReplayedRow,
    Value,
    repository_of,
)
from evaluation.cli.options import submission
from evaluation.cli.output import print_error, print_json, print_table, say
from evaluation.cli.released_round import ReleasedRound
from evaluation.domain.errors import Refusal, ReplayRefusal
from evaluation.sandbox.bubblewrap import bubblewrap_works

SAME, DIFFERENT = 0, 1

_SHOWN_DIGITS = 12
_DIGEST_DIGITS = 64


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "replay",
        help="play a match of a released round again, and compare",
        description="Plays a match of a fetched round again, without a network, by its rules, seed and samples, and "
        "compares every result with the signed bundle.",
        epilog=f"exit status: {SAME} every value is the same, {DIFFERENT} a value differs, 3 the match cannot be "
        "replayed, or a file is not the one that was signed",
    )
    command.add_argument("match", metavar="MATCH", help="ATTACK/MODEL, or a number: see `gauntlet matches --from DIR`")
    add_from(command, default=Path())
    for side, other in (("attack", []), ("model", ["--defence"])):
        text = f"the {side}'s repository, or the name of a bundled one (default: its released code)"
        command.add_argument(f"--{side}", *other, type=submission, metavar="DIR", help=text)
    command.add_argument(
        "--sandbox",
        choices=("process", "docker"),
        default="process",
        help="process: fast, in bubblewrap (default); docker: isolated, for code that you do not trust",
    )
    add_key(command)
    command.add_argument("--json", action="store_true", help="print the comparison as JSON")
    command.set_defaults(run=run)


def add_from(command: argparse._ActionsContainer, default: Path | None) -> None:
    """Add the option that names the directory of a fetched round."""
    here = "" if default is None else " (default: this one)"
    text = f"the directory of `gauntlet fetch`{here}"
    command.add_argument("--from", dest="directory", type=Path, default=default, metavar="DIR", help=text)


def add_key(command: argparse.ArgumentParser) -> None:
    """Add the option that names the key of the organisers."""
    text = "the organisers' public key, or a file with it (default: the key that the site published)"
    command.add_argument("--key", metavar="HEX|FILE", help=text)


def opened(directory: Path, key: str | None) -> ReplayableRound:
    """Return the round in a directory. Raise `ReplayRefusal` if its bundle or images are not what was signed."""
    from evaluation.cli.format_commands import replayable_round
    from evaluation.formats.registry import format_of_bundle

    of = ReleasedRound(directory)
    with of.open_bundle() as bundle:
        name = format_of_bundle(bundle)
    known = of.key(key)
    found = replayable_round(name)(of, known)
    if not found.report.ok:
        first = found.report.problems[0]
        more = len(found.report.problems) + found.report.more - 1
        others = f" (and {more:,} more problems)" if more else ""
        raise ReplayRefusal(
            f"{directory} is not what the organisers signed: line {first.line}: {first.text}{others}",
            fix="fetch the round again into another directory; `gauntlet verify` lists all problems",
        )
    if known is None:
        say("Nothing says whose key signed this bundle: compare the one that it names with the organisers' key.")
    return found


def run(given: argparse.Namespace) -> int:
    round_ = opened(given.directory, given.key)
    match = round_.match(given.match)
    if match.problem:
        raise ReplayRefusal(f"{match.name} cannot be replayed: {match.problem}")
    if match.listed and given.attack:
        raise Refusal(f"the rules list the attack {match.attack.name}: it has no repository", fix="leave --attack out")
    of = ReleasedRound(given.directory)
    _ = of.images
    contained = given.sandbox == "docker" or bubblewrap_works()
    with ExitStack() as copies:
        named = {"attack": given.attack, "model": given.model}
        repositories = [
            named[side] or copies.enter_context(repository_of(player, of, side, contained=contained))
            for side, player in match.players.items()
        ]
        found = round_.replay(match, repositories, given)
    if given.json:
        print_json(_as_dict(match, found))
    else:
        _show(match, found)
    return SAME if found.same else DIFFERENT


def _as_dict(match: ReleasedMatch, found: Replayed) -> dict[str, Any]:
    return {
        "attack": match.attack.name,
        "model": match.model.name,
        "same": found.same,
        "columns": found.columns,
        "samples": [{**asdict(row), "same": row.same} for row in found.rows],
        "notes": found.notes,
    }


def _show(match: ReleasedMatch, found: Replayed) -> None:
    print_table(
        f"{match.attack.title} against {match.model.title}",
        ("sample", *found.columns, ""),
        [(str(row.sample), *_cells(row), "same" if row.same else "differs") for row in found.rows],
    )
    for note in found.notes:
        say(note)
    different = sum(not row.same for row in found.rows)
    if different:
        print_error(f"{different} of {len(found.rows)} samples differ from the bundle (published > replayed)")
    else:
        print(f"all {len(found.rows)} samples are the same as in the bundle, to the last bit")


def _cells(row: ReplayedRow) -> list[str]:
    pairs = zip(row.published, row.replayed, strict=True)
    return [_text(one) if one == other else f"{_text(one)} > {_text(other)}" for one, other in pairs]


def _text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text[:_SHOWN_DIGITS] if len(text) == _DIGEST_DIGITS else text
