"""Verification of a result bundle with nothing but the file and the public key.

It checks that every line is the signed one, that the file is complete, and that every stage, decision, place and
warning follows from the results: the schedule is computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, Any

from evaluation.bundle.canonical_json import Canonical, canonical
from evaluation.bundle.checked_fields import quoted
from evaluation.bundle.derived_lines import DerivedLine, about_commitments, differences
from evaluation.bundle.released_sample_check import check_images
from evaluation.bundle.signature_check import BundleBody, Checked, Problem, Report, not_committed, verify_signed
from evaluation.domain.images import Image
from evaluation.domain.samples import Sample
from evaluation.formats.query.bundle.perturbed_image_check import check_pair
from evaluation.formats.query.bundle.reader import Bundle, read
from evaluation.formats.query.bundle.writer import derived_lines
from evaluation.formats.query.tournament.round_state import RoundFacts, RoundState, advance, demanded
from evaluation.scoring.distances import worst_case

_NAMED_BY = {
    "stage": ("bracket", "stage"),
    "decision": ("bracket", "stage", "player"),
    "place": ("track", "player"),
    "warning": ("model", "attack"),
}
_MOST_WORDS = 300
"""Characters of an error that a problem quotes."""


def verify(
    bundle: bytes | IO[bytes],
    key: str | None = None,
    *,
    samples: str | None = None,
    field: str | None = None,
    images: Iterable[tuple[str, IO[bytes]]] = (),
    perturbed: Iterable[tuple[str, IO[bytes]]] = (),
) -> Report:
    """Verify a bundle against the public `key` (64 hexadecimal digits), or, without one, against its own.

    `key` may also be an earlier key that leads to the signing key. `samples` and `field` are the published commitments,
    `images` the released archive of the secret images, and `perturbed` released archives of perturbed images, each with
    its name in problems. Raise `Refusal` where there is nothing to verify: the file is empty or too large, or an
    argument is not a key or a commitment.
    """

    def check(body: BundleBody) -> Checked:
        found, clean = read(body), dict[int, Image]()
        head = found.record.head
        commitments = not_committed(head.commitment, head.field_commitment, samples=samples, field=field)
        secret = chain.from_iterable(_check_images(found, clean, *file) for file in images)
        archives = (Problem(line, text) for file in perturbed for line, text in check_pair(found, clean, *file))
        problems = chain(commitments, _recompute(found, body), secret, archives)
        return Checked(problems, _summary(found, body.snapshot))

    return verify_signed(bundle, key, samples, field, check)


def read_signed(
    bundle: bytes | IO[bytes], key: str | None = None, *, images: Iterable[tuple[str, IO[bytes]]] = ()
) -> tuple[Bundle | None, Report]:
    """Read a bundle, and check its signature and the released images; arguments and errors as for `verify`.

    Its outcome is not computed again. The bundle is None where it cannot be read.
    """
    found: list[Bundle] = []

    def check(body: BundleBody) -> Checked:
        found.append(read(body))
        return Checked(chain.from_iterable(_check_images(found[0], {}, *file) for file in images), ())

    report = verify_signed(bundle, key, None, None, check)
    return (found[0] if found else None), report


def _check_images(bundle: Bundle, clean: dict[int, Image], name: str, file: IO[bytes]) -> Iterator[Problem]:
    """Yield the problems of the archive `name` of the secret images; add those of the bundle to `clean` by number."""
    samples = bundle.record.samples

    def contradictions(sample: Sample) -> Iterator[str]:
        clean[sample.number] = sample.image
        if samples[sample.number].worst_case != worst_case(sample.image):
            yield "has another worst case than in the bundle"

    hashes = [(line, sample.hash) for line, sample in enumerate(samples, start=2)]
    return check_images(hashes, contradictions, name, file)


def _recompute(bundle: Bundle, body: BundleBody) -> Iterator[Problem]:
    """Yield what does not follow from the given lines."""
    facts = bundle.record.facts
    try:
        state = advance(facts)
    except ValueError as error:
        yield Problem(1, f"the outcome cannot be computed from the results: {str(error)[:_MOST_WORDS]}")
        return
    if state.over:
        yield from _unasked(bundle, state)
    for ask in state.requests:
        line = bundle.results_at.get((ask.model, ask.attack), body.last)
        pair = f"{quoted(ask.model)} against {quoted(ask.attack)}"
        yield Problem(line, f"the results are incomplete: {pair} on {ask.upto} samples is missing")
    expected = derived_lines(state, bundle.record.head.format)
    yield from _compare(bundle, expected, body.canonical, whole=state.over)


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


def _compare(
    bundle: Bundle, expected: Sequence[Mapping[str, Any]], form: Canonical, *, whole: bool
) -> Iterator[Problem]:
    """Yield where the derived lines of the file differ from the `expected` ones; `whole`: no others may follow."""
    agree = True
    found: dict[bytes, DerivedLine] = {}
    due = {_name(line): line for line in expected}
    for derived in bundle.derived:
        line = derived.line
        name = _name(line)
        wrong = ""
        if name in found:
            wrong = f"it repeats line {found[name].number}"
        elif name not in due and whole:
            wrong = f"this line does not follow from the results: {quoted(line)}"
        elif name in due and derived.content != form(due[name]):
            wrong = _difference(line, due[name], form)
        if wrong:
            agree = False
            yield Problem(derived.number, wrong)
        found.setdefault(name, derived)
    if agree and [name for name in found if name in due] != [name for name in due if name in found]:
        yield Problem(bundle.derived[0].number, "from here on the lines are out of order")
    yield from _missing(bundle, found, due)


def _missing(
    bundle: Bundle, found: Mapping[bytes, DerivedLine], due: Mapping[bytes, Mapping[str, Any]]
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


def _difference(line: Mapping[str, Any], due: Mapping[str, Any], form: Canonical) -> str:
    what = " ".join(quoted(due[name]) for name in _NAMED_BY[due["kind"]])
    return f"{due['kind']} {what}: {differences(line, due, 'results', form)}"


def _summary(bundle: Bundle, snapshot: str) -> tuple[str, ...]:
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
        *about_commitments(head.commitment, head.field_commitment, snapshot),
    )


def _about_audits(facts: RoundFacts) -> Iterator[str]:
    models = {model for model, _ in facts.failed_audits}
    if models:
        yield f"{len(models)} models failed an audit; organisers kept {len(facts.kept)} of them"
