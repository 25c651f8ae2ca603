"""Verification of a result bundle with nothing but the file and the public key.

It checks that every line is the signed one, that the file is complete, and that every stage, decision, place and
warning follows from the results: the schedule is computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, islice
from typing import IO, Any, NamedTuple

from evaluation.bundle.canonical_json import canonical, decode_line, split
from evaluation.bundle.fields import Fields, quoted
from evaluation.bundle.keys import MOST_SUCCESSIONS, Succession, is_chain, is_key, key_id
from evaluation.bundle.perturbed_images import check_pair
from evaluation.bundle.reader import Bundle, Derived, read
from evaluation.bundle.records import derived_lines
from evaluation.bundle.signing import SIGNATURE, is_signed, line_hashes
from evaluation.domain.errors import BundleRefusal, Refusal
from evaluation.tournament.rounds import RoundFacts, RoundState, advance, demanded

_SIGNATURE = {"key", "key_id", "chain", "lines", "signature"}
_SUCCESSION = {"key", "successor", "date", "signature"}
_NAMED_BY = {
    "stage": ("bracket", "stage"),
    "decision": ("bracket", "stage", "player"),
    "place": ("track", "player"),
    "warning": ("model", "attack"),
}
MOST_PROBLEMS = 100
"""The largest number of problems in a report; further ones are only counted."""

_MOST_WORDS = 300
"""Characters of an error that a problem quotes."""


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


def verify(
    content: bytes,
    key: str | None = None,
    *,
    samples: str | None = None,
    field: str | None = None,
    perturbed: Iterable[tuple[str, IO[bytes]]] = (),
) -> Report:
    """Verify `content` against the public `key` (64 hexadecimal digits), or, without one, against its own.

    `key` may also be an earlier key that leads to the signing key. `samples` and `field` are the published commitments,
    `perturbed` released archives of perturbed images, each with its name in problems. Raise `Refusal` where there is
    nothing to verify: the file is empty or too large, or an argument is not a key or a commitment.
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
    signed = lines if signer is None else lines[:-1]
    summary: tuple[str, ...] = ()
    derived: Iterable[Problem]
    try:
        bundle = read(b"".join(signed))
        archives = (Problem(line, text) for file in perturbed for line, text in check_pair(bundle, *file))
        derived = chain(_not_committed(bundle, samples, field), _recompute(bundle, len(signed)), archives)
        summary = _summary(bundle, signed)
    except BundleRefusal as refusal:
        derived = [Problem(refusal.line, refusal.cause)]
    except Refusal as refusal:
        derived = [Problem(1, refusal.problem)]
    found = chain(problems, derived)
    # a small file can have a million errors: keep only the number of most of them
    shown = tuple(islice(found, MOST_PROBLEMS))
    return Report(shown, signer or None, (*summary, *_about_key(signer, key)), more=sum(1 for _ in found))


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


def _not_committed(bundle: Bundle, samples: str | None, field: str | None) -> Iterator[Problem]:
    head = bundle.record.head
    for what, found, given in (("samples", head.commitment, samples), ("field", head.field_commitment, field)):
        if given is not None and given != found:
            yield Problem(1, f"the commitment to the {what} is not the given one")


def _recompute(bundle: Bundle, end: int) -> Iterator[Problem]:
    """Yield what does not follow from the given lines; `end` is the number of the last line before the signature."""
    facts = bundle.record.facts
    try:
        state = advance(facts)
    except ValueError as error:
        yield Problem(1, f"the outcome cannot be computed from the results: {str(error)[:_MOST_WORDS]}")
        return
    if state.over:
        yield from _unasked(bundle, state)
    for ask in state.requests:
        line = bundle.results_at.get((ask.model, ask.attack), end)
        pair = f"{quoted(ask.model)} against {quoted(ask.attack)}"
        yield Problem(line, f"the results are incomplete: {pair} on {ask.upto} samples is missing")
    yield from _compare(bundle, derived_lines(state), whole=state.over)


def _unasked(bundle: Bundle, state: RoundState) -> Iterator[Problem]:
    asked = demanded(bundle.record.facts, state)
    for pair, rows in bundle.record.facts.results.items():
        if len(rows) > (due := asked.get(pair, 0)):
            text = f"it holds {len(rows)} samples, but the schedule demanded {due}"
            yield Problem(bundle.results_at[pair], text)
    for pair, counts in bundle.record.facts.failed_audits.items():
        if counts[-1] > asked.get(pair, 0):
            line = bundle.results_at.get(pair, 1)
            yield Problem(line, f"an audit covers {counts[-1]} samples, which the schedule did not demand")


def _compare(bundle: Bundle, expected: Sequence[Mapping[str, Any]], *, whole: bool) -> Iterator[Problem]:
    """Yield where the derived lines of the file differ from the `expected` ones; `whole`: no others may follow."""
    agree = True
    found: dict[bytes, Derived] = {}
    due = {_name(line): line for line in expected}
    for derived in bundle.derived:
        line = derived.line
        name = _name(line)
        wrong = ""
        if name in found:
            wrong = f"it repeats line {found[name].number}"
        elif name not in due and whole:
            wrong = f"this line does not follow from the results: {quoted(line)}"
        elif name in due and derived.content != canonical(due[name]):
            wrong = _difference(line, due[name])
        if wrong:
            agree = False
            yield Problem(derived.number, wrong)
        found.setdefault(name, derived)
    if agree and [name for name in found if name in due] != [name for name in due if name in found]:
        yield Problem(bundle.derived[0].number, "from here on the lines are out of order")
    yield from _missing(bundle, found, due)


def _missing(
    bundle: Bundle, found: Mapping[bytes, Derived], due: Mapping[bytes, Mapping[str, Any]]
) -> Iterator[Problem]:
    before = max(bundle.results_at.values(), default=1)
    for name, line in due.items():
        if name in found:
            before = found[name].number
        else:
            yield Problem(before, f"a line is missing after it: {quoted(line)}")


def _name(line: Mapping[str, Any]) -> bytes:
    """Return the subject of a derived line."""
    return canonical([line["kind"], *(line.get(name) for name in _NAMED_BY[line["kind"]])])


def _difference(line: Mapping[str, Any], due: Mapping[str, Any]) -> str:
    what = " ".join(quoted(due[name]) for name in _NAMED_BY[due["kind"]])
    texts = [
        f"{name} is {quoted(line[name]) if name in line else 'missing'}, but the results make it {quoted(due[name])}"
        for name in due
        if name not in line or canonical(line[name]) != canonical(due[name])
    ]
    if unknown := sorted(line.keys() - due.keys()):
        texts.append(f"it has unknown fields: {quoted(unknown)}")
    return f"{due['kind']} {what}: {'; '.join(texts)}"


def _summary(bundle: Bundle, signed: Sequence[bytes]) -> tuple[str, ...]:
    head, facts = bundle.record.head, bundle.record.facts
    kinds = [derived.kind for derived in bundle.derived]
    counted = ", ".join(f"{kinds.count(kind)} {kind}s" for kind in _NAMED_BY)
    rows = sum(len(rows) for rows in facts.results.values())
    competition, title, kind = quoted(head.competition), quoted(head.title), quoted(head.kind)
    return (
        f"round {head.number} of {competition}, {title}: {kind}, schedule {quoted(facts.schedule)}",
        f"{len(facts.entrants)} players, {facts.samples} samples, {rows:,} results of {len(facts.results)} pairs",
        counted,
        *_about_audits(facts),
        f"commitment to the samples {head.commitment}",
        f"commitment to the field {head.field_commitment}",
        f"snapshot {sha256(b''.join(signed)).hexdigest()}",
    )


def _about_audits(facts: RoundFacts) -> Iterator[str]:
    models = {model for model, _ in facts.failed_audits}
    if models:
        yield f"{len(models)} models failed an audit; organisers kept {len(facts.kept)} of them"


def _about_key(signer: str | None, key: str | None) -> tuple[str, ...]:
    if not signer:
        return ()
    named = f"key {quoted(signer)}" + (f" ({key_id(signer)})" if is_key(signer) else "")
    if key is not None:
        return (named + (", the given key" if signer == key else ""),)
    return (f"{named}, as the bundle itself names it: compare it with the key that the organisers publish",)
