"""`gauntlet verify`: check of a result bundle's signature and of every decision in it, or of a file of objections."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from evaluation.bundle.objections_file_check import is_objections, verify_objections
from evaluation.cli.bundle_verifier import verifier_of
from evaluation.cli.output import print_error, print_json, printable, working
from evaluation.cli.public_key_value import given_key
from evaluation.domain.errors import Refusal
from evaluation.formats.registry import format_of_bundle

DONE, REFUSED, UNKNOWN_KEY = 0, 3, 5

_OWN_KEY = "signed by the key inside the bundle: compare that key with the organisers' published key"


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "verify",
        help="verify the result bundle of a round, or the objections to it",
        epilog=f"exit status: {DONE} valid, {REFUSED} invalid, {UNKNOWN_KEY} valid, but by an unknown key (no --key)",
    )
    command.add_argument("bundle", type=Path, metavar="BUNDLE", help="the released bundle, or file of objections")
    command.add_argument(
        "--key",
        metavar="HEX|FILE",
        help="the organisers' public key, or a file with it (default: the key in the bundle)",
    )
    command.add_argument("--samples", metavar="HEX", help="commitment to the samples, from the round's page")
    command.add_argument("--field", metavar="HEX", help="commitment to the field, from the round's page")
    command.add_argument(
        "--images", type=Path, metavar="ZIP", help="released archive of the secret images, with labels and targets"
    )
    command.add_argument(
        "--perturbed", type=Path, nargs="+", default=[], metavar="ZIP", help="released archives of perturbed images"
    )
    command.add_argument(
        "--outcome", metavar="HEX", help="snapshot hash of the round, from its page, to which the objections belong"
    )
    command.add_argument("--json", action="store_true", help="print the report as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    key = None if given.key is None else given_key(given.key)
    with working("recomputing every decision ..."):
        commitments = {"samples": _lower(given.samples), "field": _lower(given.field)}
        secret = _opened([given.images] if given.images else [])
        with _open(given.bundle) as bundle:
            of_objections = is_objections(bundle)
            if of_objections:
                _require_no_parts(given)
                report = verify_objections(bundle, key, _lower(given.outcome))
            else:
                _require_no_outcome(given)
                verify = verifier_of(format_of_bundle(bundle))
                report = verify(bundle, key, **commitments, images=secret, perturbed=_opened(given.perturbed))
    if given.json:
        problems = [{"line": problem.line, "problem": problem.text} for problem in report.problems]
        header = {"ok": report.ok, "key": report.key, "key_given": key is not None, "summary": list(report.summary)}
        print_json({**header, "problems": problems, "more_problems": report.more})
        return REFUSED if not report.ok else UNKNOWN_KEY if key is None else DONE
    for line in report.summary:
        print(printable(line))
    for problem in report.problems:
        print(printable(f"line {problem.line}: {problem.text}" if problem.line else problem.text))
    if report.more:
        print(f"and {report.more:,} more")
    if not report.ok:
        count = len(report.problems) + report.more
        print_error(f"{given.bundle} is invalid: {count:,} problem{'s' if count > 1 else ''}")
        return REFUSED
    follow = "its lines are those that were signed" if of_objections else "its results follow from its rows"
    if key is None:
        print(printable(f"{given.bundle}: {follow}. It is {_OWN_KEY}"))
        return UNKNOWN_KEY
    print(printable(f"{given.bundle}: the signature is valid, and {follow}"))
    return DONE


def _require_no_parts(given: argparse.Namespace) -> None:
    """Raise `Refusal` for options that are about a bundle."""
    if given.samples or given.field or given.images or given.perturbed:
        raise Refusal(
            f"{given.bundle} holds the objections to a round, which have no samples, field or images",
            fix="leave --samples, --field, --images and --perturbed out",
        )


def _require_no_outcome(given: argparse.Namespace) -> None:
    """Raise `Refusal` for the option that is about objections."""
    if given.outcome:
        raise Refusal(
            f"{given.bundle} is a bundle, whose snapshot hash follows from its rows",
            fix="leave --outcome out, and compare the snapshot in the report",
        )


def _open(path: Path) -> IO[bytes]:
    try:
        file = path.open("rb")
        file.seek(0)  # a pipe has no head to go back to
    except OSError as error:
        raise Refusal(f"{path} is not readable: {error.strerror}") from None
    return file


def _opened(archives: Iterable[Path]) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the open files one after the other; close each before the next is opened."""
    for archive in archives:
        with _open(archive) as file:
            yield str(archive), file


def _lower(given: str | None) -> str | None:
    return given.lower() if given else given
