"""Check of a signed bundle of any format: its signature and its commitments, and the report on both and on its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from itertools import chain, islice
from typing import IO, Any, NamedTuple, Protocol

from evaluation.bundle import rfc8785
from evaluation.bundle.body_in_parts import PartsBody, is_manifest
from evaluation.bundle.canonical_json import MOST_BYTES, MOST_LINE_BYTES, Canonical, canonical, decode_line, split
from evaluation.bundle.checked_fields import Fields, quoted
from evaluation.bundle.key_succession import MOST_SUCCESSIONS, Succession, is_chain, is_key, key_id, signs
from evaluation.bundle.signing import (
    SIGNATURE,
    begins_with_signature,
    line_hashes,
    message_of_lines,
    message_of_parts,
)
from evaluation.domain.errors import BundleRefusal, Refusal

_SIGNATURE = {"key", "key_id", "chain", "signature"}
_SUCCESSION = {"key", "successor", "date", "signature"}

MOST_PROBLEMS = 100
"""The largest number of problems in a report; further ones are only counted."""


class Problem(NamedTuple):
    """An error in a line, with the line's number, from 1; 0 for the signature and the manifest of a bundle in parts."""

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


class BundleBody(Protocol):
    """The lines of a bundle without its signature, to be iterated once, to the end."""

    @property
    def canonical(self) -> Canonical:
        """The canonical form of its lines."""

    @property
    def last(self) -> int:
        """The number of its last line."""

    @property
    def snapshot(self) -> str:
        """The snapshot hash of the round, once all lines were read."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the lines. Raise `BundleRefusal` for the first one that is malformed."""

    def require_read(self) -> None:
        """Raise `ValueError` if lines were not read whose hashes are only checked by reading them."""


class LinesBody:
    """The body of a bundle of lines."""

    canonical = staticmethod(canonical)

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self.last = len(lines)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self._lines:
            raise Refusal("the bundle has no lines before its signature", fix="download it again")
        for number, line in enumerate(self._lines, start=1):
            yield decode_line(number, line)

    @property
    def snapshot(self) -> str:
        """The SHA-256 of its lines, in hexadecimal."""
        return sha256(b"".join(self._lines)).hexdigest()

    def require_read(self) -> None:
        """Accept any: the hashes of the lines are checked with the signature."""


def verify_signed(
    bundle: bytes | IO[bytes],
    key: str | None,
    samples: str | None,
    field: str | None,
    check: Callable[[BundleBody], Checked],
) -> Report:
    """Verify the signature of a bundle against the public `key`, or its own, and its body with `check`.

    A bundle in parts that is an open file is read as a stream. `check` gets the body and may raise a `Refusal`, which
    becomes a problem. `samples` and `field` are commitments; only their form is checked here. Raise `Refusal` where
    there is nothing to verify.
    """
    for what, given, page in (
        ("key", key, "page signing-key.txt of the site"),
        ("commitment to the samples", samples, "page of the round"),
        ("commitment to the field", field, "page of the round"),
    ):
        if given is not None and not is_key(given):
            raise Refusal(f"the {what} is not 64 hexadecimal digits", fix=f"copy it from the {page}")
    file = BytesIO(bundle) if isinstance(bundle, bytes) else bundle
    try:
        signer, problems, body = _opened(file, key)
    except BundleRefusal as refusal:
        return Report((Problem(refusal.line, refusal.cause),), None, ())
    summary: tuple[str, ...] = ()
    derived: Iterable[Problem]
    try:
        derived, summary = check(body)
        body.require_read()
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


def _opened(file: IO[bytes], key: str | None) -> tuple[str | None, list[Problem], BundleBody]:
    """Return the key that signed, None where there is no signature, the problems of the signature, and the body."""
    first = file.readline(MOST_LINE_BYTES + 1)
    if begins_with_signature(first):
        manifest = file.readline(MOST_LINE_BYTES + 1)
        body = PartsBody(manifest, file)
        return *_check_parts(first, manifest, key), body
    if is_manifest(first):
        unsigned = Problem(0, "the first line is not a signature: the bundle was never signed")
        return None, [unsigned], PartsBody(first, file)
    lines = split(first + file.read(MOST_BYTES + 1 - len(first)))
    signer, problems = _check_lines(lines, key)
    return signer, problems, LinesBody(lines if signer is None else lines[:-1])


def _check_parts(line: bytes, manifest: bytes, key: str | None) -> tuple[str, list[Problem]]:
    """Return the key of the signature of a bundle in parts, "" if it cannot be read, and the problems of it."""
    try:
        fields = Fields(0, decode_line(0, line, rfc8785.canonical, rfc8785.read), names=_SIGNATURE)
        signature, steps = _Signature.read(fields), _chain(fields)
    except BundleRefusal as refusal:
        return "", [Problem(0, f"the signature: {refusal.cause}")]
    message = message_of_parts(manifest)
    return signature.key, [Problem(0, text) for text in _problems(signature, steps, message, key, "this manifest")]


def _check_lines(lines: Sequence[bytes], key: str | None) -> tuple[str | None, list[Problem]]:
    """Return the key of the last line, None where that is not a signature, and the problems of the signature."""
    last = len(lines)
    try:
        line = decode_line(last, lines[-1])
        if line["kind"] != SIGNATURE:
            return None, [Problem(last, "the last line is not a signature: the file is cut off or was never signed")]
        fields = Fields(last, line, names=_SIGNATURE | {"lines"})
        signature, hashes, steps = _Signature.read(fields), fields.texts("lines"), _chain(fields)
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
    texts = _problems(signature, steps, message_of_lines(hashes), key, "these lines")
    return signature.key, [*problems, *(Problem(last, text) for text in texts)]


class _Signature(NamedTuple):
    """What a signature of either form says."""

    key: str
    key_id: str
    signature: str

    @classmethod
    def read(cls, fields: Fields) -> _Signature:
        return cls(*(fields.text(name) for name in cls._fields))


def _problems(
    signature: _Signature, steps: Sequence[Succession], message: bytes, key: str | None, signed: str
) -> Iterator[str]:
    """Yield why the signature is not one of the `message` by the public `key` or a successor of it."""
    signer = signature.key
    if not signs(signer, message, signature.signature):
        yield f"the signature is not valid for {signed} and the key that it names"
    elif signature.key_id != key_id(signer):
        yield f"the identifier of its key is not {quoted(signature.key_id)}"
    if not is_chain(steps, signer):
        yield "the keys that it names do not lead to the key that signed"
    elif key is not None and key not in (signer, *(step.key for step in steps)):
        # do not repeat the given key: the user may have passed the file of the secret key by mistake
        yield f"it was signed by the key {quoted(signer)}, which is neither the given key nor a successor of it"


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
