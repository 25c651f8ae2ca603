"""Check of a signed bundle of any format: its signature and its commitments, and the report on both and on its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from evaluation.bundle.canonical_json import decode_line, split
from evaluation.bundle.checked_fields import Fields, quoted
from evaluation.bundle.signing import SIGNATURE, is_signed, line_hashes
from evaluation.bundle.signing_keys import MOST_SUCCESSIONS, Succession, is_chain, is_key, key_id
from evaluation.domain.errors import BundleRefusal, Refusal

_SIGNATURE = {"key", "key_id", "chain", "lines", "signature"}
_SUCCESSION = {"key", "successor", "date", "signature"}

MOST_PROBLEMS = 100
"""The largest number of problems in a report; further ones are only counted."""


class Problem(NamedTuple):
    """An error in a line, with the line's number, from 1."""

    line: int
    text: str


@dataclass(frozen=True)
class Report:
    """The result of a verification. `key` is the public key that signed, None where the file names none.

    `summary` is for people. `more` is the number of problems beyond those in `problems`.
    """

    problems: tuple[Problem, ...]
    key: str | None
    summary: tuple[str, ...]
    more: int = 0

    @property
    def ok(self) -> bool:
        """True if the bundle is the signed one and its outcome follows from its rows."""
        return not self.problems


class Checked(NamedTuple):
    """The problems of a body, found while they are read, and lines about it for people."""

    problems: Iterable[Problem]
    summary: tuple[str, ...]


def verify_signed(
    content: bytes,
    key: str | None,
    samples: str | None,
    field: str | None,
    check: Callable[[Sequence[bytes]], Checked],
) -> Report:
    """Verify the signature of `content` against the public `key`, or its own, and its body with `check`.

    `check` gets the lines before the signature, and may raise a `Refusal`, which becomes a problem. `samples` and
    `field` are commitments; only their form is checked here. Raise `Refusal` where there is nothing to verify.
    """
    for what, given, page in (
        ("key", key, "page signing-key.txt of the site"),
        ("commitment to the samples", samples, "page of the round"),
        ("commitment to the field", field, "page of the round"),
    ):
        if given is not None and not is_key(given):
            raise Refusal(f"the {what} is not 64 hexadecimal digits", fix=f"copy it from the {page}")
    try:
        lines = split(content)
    except BundleRefusal as refusal:
        return Report((Problem(refusal.line, refusal.cause),), None, ())
    signer, problems = _check_signature(lines, key)
    summary: tuple[str, ...] = ()
    derived: Iterable[Problem]
    try:
        derived, summary = check(lines if signer is None else lines[:-1])
    except BundleRefusal as refusal:
        derived = [Problem(refusal.line, refusal.cause)]
    except Refusal as refusal:
        derived = [Problem(1, refusal.problem)]
    found = chain(problems, derived)
    # a small file can have a million errors: keep only the number of most of them
    shown = tuple(islice(found, MOST_PROBLEMS))
    return Report(shown, signer or None, (*summary, *_about_key(signer, key)), more=sum(1 for _ in found))


def not_committed(samples_found: str, field_found: str, *, samples: str | None, field: str | None) -> Iterator[Problem]:
    """Yield where the commitments of the head are not the given ones."""
    for what, found, given in (("samples", samples_found, samples), ("field", field_found, field)):
        if given is not None and given != found:
            yield Problem(1, f"the commitment to the {what} is not the given one")


def _check_signature(lines: Sequence[bytes], key: str | None) -> tuple[str | None, list[Problem]]:
    """Return the key of the last line, None where that is not a signature, and the problems of the signature."""
    last = len(lines)
    try:
        line = decode_line(last, lines[-1])
        if line["kind"] != SIGNATURE:
            return None, [Problem(last, "the last line is not a signature: the file is cut off or was never signed")]
        fields = Fields(last, line, names=_SIGNATURE)
        signer, hashes, signature = fields.text("key"), fields.texts("lines"), fields.text("signature")
        named, steps = fields.text("key_id"), _chain(fields)
    except BundleRefusal as refusal:
        # even with a broken signature, the lines before it are checked
        return "", [Problem(last, refusal.cause)]
    problems = []
    found = line_hashes(lines[:-1])
    pairs = enumerate(zip(found, hashes, strict=False), start=1)
    changed = [number for number, (ours, theirs) in pairs if ours != theirs]
    if len(found) == len(hashes):
        problems += [Problem(number, "it is not the line that was signed") for number in changed]
    else:
        # lines were added or removed: all lines behind the first of them have moved
        first = changed[0] if changed else min(len(found), len(hashes)) + 1
        count = f"{len(hashes)} lines were signed, but {len(found)} come before the signature"
        problems.append(Problem(first, f"from here on these are not the lines that were signed: {count}"))
    if not is_signed(hashes, signer, signature):
        problems.append(Problem(last, "the signature is not valid for these lines and the key that it names"))
    elif named != key_id(signer):
        problems.append(Problem(last, f"the identifier of its key is not {quoted(named)}"))
    if not is_chain(steps, signer):
        problems.append(Problem(last, "the keys that it names do not lead to the key that signed"))
    elif key is not None and key not in (signer, *(step.key for step in steps)):
        # do not repeat the given key: the user may have passed the file of the secret key by mistake
        why = "which is neither the given key nor a successor of it"
        problems.append(Problem(last, f"it was signed by the key {quoted(signer)}, {why}"))
    return signer, problems


def _chain(line: Fields) -> list[Succession]:
    steps = line.mappings("chain")
    if len(steps) > MOST_SUCCESSIONS:
        raise line.refusal(f"it names more than {MOST_SUCCESSIONS} earlier keys")
    read = [Fields(line.number, step, names=_SUCCESSION) for step in steps]
    return [Succession(*(step.text(name) for name in ("key", "successor", "date", "signature"))) for step in read]


def _about_key(signer: str | None, key: str | None) -> tuple[str, ...]:
    if not signer:
        return ()
    named = f"key {quoted(signer)}" + (f" ({key_id(signer)})" if is_key(signer) else "")
    if key is not None:
        return (named + (", the given key" if signer == key else ""),)
    return (f"{named}, as the bundle itself names it: compare it with the key that the organisers publish",)
