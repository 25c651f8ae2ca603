"""Verification of a bundle of the transfer format with nothing but the file and the public key.

It checks that every line is the signed one, that every attack met every defence on every batch, and that every score
and place follows from the labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import IO, Any

from evaluation.bundle.canonical_json import Canonical
from evaluation.bundle.checked_fields import quoted
from evaluation.bundle.derived_lines import about_commitments, differences
from evaluation.bundle.released_sample_check import check_images
from evaluation.bundle.sample_hash import NO_TARGET
from evaluation.bundle.signature_check import BundleBody, Checked, Problem, Report, not_committed, verify_signed
from evaluation.domain.images import Image
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.bundle.image_archive_check import check_archive
from evaluation.formats.transfer.bundle.reader import TransferBundle, read
from evaluation.formats.transfer.bundle.writer import TransferRecord, standing_lines


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
    `images` the released archive of the secret images, and `perturbed` released archives of attack runs, each with its
    name in problems. Raise `Refusal` where there is nothing to verify.
    """

    def check(body: BundleBody) -> Checked:
        found, clean = read(body), dict[int, Image]()
        head = found.record.head
        commitments = not_committed(head.commitment, head.field_commitment, samples=samples, field=field)
        secret = chain.from_iterable(_check_images(found.record, clean, *file) for file in images)
        archives = (Problem(line, text) for file in perturbed for line, text in check_archive(found, clean, *file))
        problems = chain(commitments, _recompute(found, body), secret, archives)
        return Checked(problems, _summary(found.record, body.snapshot))

    return verify_signed(bundle, key, samples, field, check)


def read_signed(
    bundle: bytes | IO[bytes], key: str | None = None, *, images: Iterable[tuple[str, IO[bytes]]] = ()
) -> tuple[TransferBundle | None, Report]:
    """Read a bundle, and check its signature and the released images; arguments and errors as for `verify`.

    Its standings are not computed again. The bundle is None where it cannot be read.
    """
    found: list[TransferBundle] = []

    def check(body: BundleBody) -> Checked:
        found.append(read(body))
        return Checked(chain.from_iterable(_check_images(found[0].record, {}, *file) for file in images), ())

    report = verify_signed(bundle, key, None, None, check)
    return (found[0] if found else None), report


def _check_images(record: TransferRecord, clean: dict[int, Image], name: str, file: IO[bytes]) -> Iterator[Problem]:
    """Yield the problems of the archive `name` of the secret images; add those of the bundle to `clean` by number."""
    labels = [label for batch in record.batches for label in batch.labels]
    targets = [target for batch in record.batches for target in batch.targets]

    def contradictions(sample: Sample) -> Iterator[str]:
        clean[sample.number] = sample.image
        if sample.label != labels[sample.number]:
            yield f"has the label {sample.label}, and in the bundle {labels[sample.number]}"
        target = NO_TARGET if sample.target is None else sample.target
        if target != targets[sample.number]:
            yield f"has the target {target}, and in the bundle {targets[sample.number]}"

    hashes = [(line, each) for line, batch in enumerate(record.batches, start=2) for each in batch.hashes]
    return check_images(hashes, contradictions, name, file)


def _recompute(bundle: TransferBundle, body: BundleBody) -> Iterator[Problem]:
    """Yield what does not follow from the given lines."""
    end = body.last
    missing = list(_missing(bundle.record))
    if missing:
        yield from (Problem(end, f"the results are incomplete: {text} is missing") for text in missing)
        return
    due = standing_lines(bundle.record)
    for found, expected in zip(bundle.standings, due, strict=False):
        if text := _difference(found.line, expected, body.canonical):
            yield Problem(found.number, text)
    for found in bundle.standings[len(due) :]:
        yield Problem(found.number, f"this line does not follow from the labels: {quoted(found.line)}")
    for expected in due[len(bundle.standings) :]:
        yield Problem(end, f"a line is missing after it: {quoted(expected)}")


def _missing(record: TransferRecord) -> Iterator[str]:
    for attack in record.attacks:
        for number in range(len(record.batches)):
            if (attack.player, number) not in record.attack_runs:
                yield f"{quoted(attack.player)} on batch {number}"
        for defence in record.defences:
            if (attack.player, defence.player) not in record.labels:
                yield f"{quoted(defence.player)} against {quoted(attack.player)}"


def _difference(line: Mapping[str, Any], due: Mapping[str, Any], form: Canonical) -> str:
    """Return how a standing differs from the one that is `due`, "" if it does not."""
    if form(line) == form(due):
        return ""
    return f"standing of {quoted(due['player'])} in the track {due['track']}: {differences(line, due, 'labels', form)}"


def _summary(record: TransferRecord, snapshot: str) -> tuple[str, ...]:
    head = record.head
    samples = sum(len(batch.hashes) for batch in record.batches)
    labels = sum(len(given.labels) for given in record.labels.values())
    teams = {one.team for entrant in record.entrants for one in entrant.submissions}
    return (
        f"round {head.number} of {quoted(head.competition)}, {quoted(head.title)}: {quoted(head.kind)}, "
        "every attack against every defence",
        f"{len(record.attacks)} attacks, {len(record.defences)} defences, {len(teams)} teams",
        f"{samples:,} samples in {len(record.batches)} batches, {labels:,} labels",
        *about_commitments(head.commitment, head.field_commitment, snapshot),
    )
