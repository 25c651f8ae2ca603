"""`gauntlet verify`: is a result bundle what was signed, and does everything in it follow from its results?"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from evaluation.cli.output import complain, print_json, printable, working
from evaluation.domain.errors import Refusal

DONE, REFUSED = 0, 3

_BY_ITSELF = "signed by the key that the bundle names itself: compare it with the one that the organisers publish"


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("verify", help="verify the result bundle of a round")
    command.add_argument("bundle", type=Path, metavar="BUNDLE", help="the file that the organisers released")
    command.add_argument(
        "--key", metavar="HEX|FILE", help="their public key, or a file that holds it (default: the bundle's own)"
    )
    command.add_argument("--samples", metavar="HEX", help="the commitment to the samples, from the page of the round")
    command.add_argument("--field", metavar="HEX", help="the commitment to the field, from the page of the round")
    command.add_argument(
        "--perturbed", type=Path, nargs="+", default=[], metavar="ZIP", help="released archives of perturbed images"
    )
    command.add_argument("--json", action="store_true", help="print the report as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    from evaluation.bundle.canonical_json import MOST_BYTES
    from evaluation.bundle.verify import verify

    content = _read(given.bundle, MOST_BYTES)
    key = None if given.key is None else _key(given.key)
    with working("every decision is computed anew ..."):
        commitments = {"samples": _lower(given.samples), "field": _lower(given.field)}
        report = verify(content, key, **commitments, perturbed=_opened(given.perturbed))
    if given.json:
        problems = [{"line": problem.line, "problem": problem.text} for problem in report.problems]
        told = {"ok": report.ok, "key": report.key, "key_given": key is not None, "summary": list(report.summary)}
        print_json({**told, "problems": problems, "more_problems": report.more})
        return DONE if report.ok else REFUSED
    for line in report.summary:
        print(printable(line))
    for problem in report.problems:
        print(printable(f"line {problem.line}: {problem.text}"))
    if report.more:
        print(f"and {report.more:,} more")
    if not report.ok:
        count = len(report.problems) + report.more
        complain(f"{given.bundle} is not to be trusted: {count:,} problem{'s' if count > 1 else ''}")
        return REFUSED
    if key is None:
        print(printable(f"{given.bundle}: its results follow from its rows, and it was {_BY_ITSELF}"))
    else:
        print(printable(f"{given.bundle} is what was signed, and its results follow from its rows"))
    return DONE


def _read(bundle: Path, most: int) -> bytes:
    try:
        with bundle.open("rb") as file:
            # one byte more than allowed is enough to see that it is too large
            return file.read(most + 1)
    except OSError as error:
        raise Refusal(f"{bundle} cannot be read: {error.strerror}") from None


def _opened(archives: Iterable[Path]) -> Iterator[tuple[str, IO[bytes]]]:
    """One after the other, each closed before the next is opened."""
    for archive in archives:
        try:
            file = archive.open("rb")
        except OSError as error:
            raise Refusal(f"{archive} cannot be read: {error.strerror}") from None
        with file:
            yield str(archive), file


def _lower(given: str | None) -> str | None:
    return given.lower() if given else given


def _key(given: str) -> str:
    """The key as typed, or the one in the file of that name. What was given is never repeated: it may be a secret."""
    if re.fullmatch(r"[0-9a-fA-F]{64}", given):
        return given.lower()
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Refusal("--key is neither 64 hexadecimal digits nor a file of text that can be read") from None
    found: set[str] = set(re.findall(r"\b[0-9a-f]{64}\b", text.lower()))
    if len(found) != 1:
        raise Refusal("the file of --key does not hold one public key of 64 hexadecimal digits")
    return found.pop()
