"""A bundle of the transfer format, read and checked for consistency: untrusted lines as values."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.bundle import rfc8785
from evaluation.bundle.binary_columns import HASH, hash_texts, require_none
from evaluation.bundle.body_in_parts import is_manifest
from evaluation.bundle.bundle_submission import read_submission
from evaluation.bundle.canonical_json import MOST_SAMPLES, commitment_of
from evaluation.bundle.checked_fields import Fields, quoted
from evaluation.bundle.derived_lines import DerivedLine
from evaluation.bundle.line_order_check import in_order
from evaluation.bundle.sample_hash import NO_TARGET
from evaluation.bundle.signature_check import BundleBody
from evaluation.domain.errors import BundleRefusal
from evaluation.domain.images import ImageShape
from evaluation.formats.transfer.bundle.writer import (
    OF_LINES,
    VERSION,
    BundleAttackRun,
    BundleBatch,
    BundleEntrant,
    BundleLabels,
    TransferHead,
    TransferRecord,
    transfer_field_commitment,
)
from evaluation.formats.transfer.results import NO_LABEL, BatchReason
from evaluation.formats.transfer.rules import Opponents, TransferRules, TransferTrack
from evaluation.formats.transfer.runner.batches import batch_sizes

MOST_PLAYERS = 3000
"""The largest number of players in a bundle that is read."""

MOST_LABELS = 200_000_000
"""The largest number of labels in a bundle that is read, two bytes each: attacks times defences times samples."""

MOST_IMAGES = 3_000_000
"""The largest number of images of attacks in a bundle that is read: attacks times samples."""

_HEAD = {
    *("format", "version", "competition", "round", "title", "round_kind", "samples", "rules_version", "rules", "seed"),
    *("commitment", "field_salt", "field_commitment"),
}
_BATCH = {"batch", "epsilon", "hashes", "labels", "targets"}
_ENTRANT = {"track", "player", "baseline", "submissions"}
_ATTACK = {"attack", "batch", "made", "hashes", "reason", "archive"}
_LABELS = {"attack", "defence", "labels", "reasons"}
_ORDER = {"head": 0, "batch": 1, "entrant": 2, "attack": 3, "labels": 4, "standing": 5}
_HASH = re.compile(r"[0-9a-f]{64}")
_REASONS = {"", *BatchReason}


@dataclass(frozen=True)
class TransferBundle:
    """A bundle without its signature. `attacks_at` are the numbers of the lines of the runs (attack, batch)."""

    record: TransferRecord
    standings: tuple[DerivedLine, ...]
    attacks_at: Mapping[tuple[str, int], int]


def written_version(first: bytes) -> int | None:
    """Return the version of a body of lines of this site that begins with the head `first`, None for one in parts."""
    return None if is_manifest(first) else int(json.loads(first)["version"])


def read(body: BundleBody) -> TransferBundle:
    """Read the body of a bundle, without the signature.

    Raise `BundleRefusal` for the first line that is malformed, misplaced, or contradicts the lines before it.
    """
    lines = in_order(body, _ORDER)
    reading = _TransferBundleReading(Fields(1, next(lines), names=_HEAD))
    standings: list[DerivedLine] = []
    for number, line in enumerate(lines, start=2):
        if line["kind"] != "standing":
            reading.take(number, line)
        elif len(standings) < MOST_PLAYERS:
            require_none(number, line)
            standings.append(DerivedLine(number, line["kind"], body.canonical(line)))
        else:
            raise BundleRefusal(number, "it has more standings than this program can verify")
    return TransferBundle(reading.record(), tuple(standings), reading.attacks_at)


class _TransferBundleReading:
    """The state of reading the given lines one after the other."""

    def __init__(self, head: Fields) -> None:
        version = head.whole("version")
        if not 1 <= version <= VERSION:
            raise head.refusal(f"its version is not from 1 to {VERSION}, those that this program reads")
        self._line = head
        self._in_parts = version > OF_LINES
        self._head = TransferHead(
            competition=head.text("competition"),
            number=head.whole("round"),
            title=head.text("title"),
            kind=head.text("round_kind"),
            rules_version=head.whole("rules_version"),
            rules=_rules(head),
            seed=head.large("seed") if self._in_parts else head.whole("seed"),
            commitment=head.text("commitment"),
            field_salt=head.text("field_salt"),
            field_commitment=head.text("field_commitment"),
            version=version,
        )
        samples = head.whole("samples", 1, MOST_SAMPLES)
        self._sizes = batch_sizes(samples, self._head.rules, self._head.seed)
        self._batches: list[BundleBatch] = []
        self._samples: set[str] = set()
        self._entrants: dict[str, BundleEntrant] = {}
        self._attack_runs: dict[tuple[str, int], BundleAttackRun] = {}
        self._labels: dict[tuple[str, str], BundleLabels] = {}
        self._made: tuple[str, NDArray[np.bool_]] | None = None
        self.attacks_at: dict[tuple[str, int], int] = {}

    def take(self, number: int, line: Mapping[str, Any]) -> None:
        """Read one more line."""
        if line["kind"] == "batch":
            self._batch(Fields(number, line, names=_BATCH))
            return
        self._check_batches()
        if line["kind"] == "entrant":
            self._entrant(Fields(number, line, names=_ENTRANT))
        elif line["kind"] == "attack":
            self._attack(Fields(number, line, names=_ATTACK))
        else:
            self._given_labels(Fields(number, line, names=_LABELS))

    def record(self) -> TransferRecord:
        """Return everything that was given, after all lines are read."""
        self._check_batches()
        entrants = list(self._entrants.values())
        if self._head.commitment != commitment_of([each for batch in self._batches for each in batch.hashes]):
            raise self._line.refusal("the commitment does not match the hashes of the samples")
        if self._head.field_commitment != transfer_field_commitment(self._head, len(self._samples), entrants):
            raise self._line.refusal("the commitment to the field does not match the entrants and the rules")
        return TransferRecord(self._head, self._batches, entrants, self._attack_runs, self._labels)

    def _check_batches(self) -> None:
        if len(self._batches) < len(self._sizes):
            raise self._line.refusal(f"its samples make {len(self._sizes)} batches, but {len(self._batches)} follow")

    def _batch(self, line: Fields) -> None:
        number = len(self._batches)
        if number == len(self._sizes):
            raise line.refusal(f"the samples of the head make only {number} batches")
        if line.whole("batch") != number:
            raise line.refusal(f"it should be batch {number}")
        epsilon, images = self._sizes[number]
        if line.whole("epsilon") != epsilon:
            raise line.refusal(f"its epsilon must be {epsilon}, as the rules and the seed say")
        most = self._head.rules.classes - 1
        hashes = self._hashes_of(line)
        labels, targets = self._wholes(line, "labels", 0, most), self._wholes(line, "targets", NO_TARGET, most)
        if not len(hashes) == len(labels) == len(targets) == images:
            raise line.refusal(f"its columns must have {images} entries each")
        if any(label == target for label, target in zip(labels, targets, strict=True)):
            raise line.refusal("the target of a sample is its true class")
        if not all(map(_HASH.fullmatch, hashes)):
            raise line.refusal("the hash of a sample is not 64 hexadecimal digits")
        known = len(self._samples)
        self._samples.update(hashes)
        if len(self._samples) < known + images:
            raise line.refusal("a sample is listed twice")
        self._batches.append(BundleBatch(epsilon, hashes, tuple(labels), tuple(targets)))

    def _entrant(self, line: Fields) -> None:
        track, player, baseline = line.word("track", TransferTrack), line.text("player"), line.text("baseline")
        if player in self._entrants:
            raise line.refusal("the player is listed twice")
        if len(self._entrants) == MOST_PLAYERS:
            raise line.refusal("the round is larger than this program can verify")
        if self._entrants and _place(track) < _place(next(reversed(self._entrants.values())).track):
            raise line.refusal(f"players of the track {track} must come earlier")
        submissions = tuple(read_submission(line.number, one) for one in line.mappings("submissions"))
        if not submissions and not baseline:
            raise line.refusal("a player must have a submission or be a baseline")
        if len({one.team for one in submissions}) < len(submissions):
            raise line.refusal("a team is listed twice")
        self._entrants[player] = BundleEntrant(track, player, baseline, submissions)

    def _attack(self, line: Fields) -> None:
        attack, number = line.text("attack"), line.whole("batch", 0, len(self._batches) - 1)
        self._check_side(line, attack, attacks=True)
        if not self._attack_runs:
            self._check_size()
        _check_next(line, (attack, number), self._attack_runs)
        hashes, archive = self._hashes_of(line), line.text("archive")
        if len(hashes) != len(self._batches[number].hashes):
            raise line.refusal(f"batch {number} has {len(self._batches[number].hashes)} images, not {len(hashes)}")
        if not all(_HASH.fullmatch(each) for each in (*filter(None, hashes), archive)):
            raise line.refusal("a hash is not 64 hexadecimal digits")
        if line.whole("made") != (made := sum(map(bool, hashes))):
            raise line.refusal(f"made must be {made}, the number of its hashes")
        self._attack_runs[attack, number] = BundleAttackRun(hashes, _reason(line, line.text("reason")), archive)
        self.attacks_at[attack, number] = line.number

    def _given_labels(self, line: Fields) -> None:
        attack, defence = line.text("attack"), line.text("defence")
        self._check_side(line, attack, attacks=True)
        self._check_side(line, defence, attacks=False)
        _check_next(line, (attack, defence), self._labels)
        given, reasons = self._columns_of(line) if self._in_parts else self._lists_of(line)
        made = self._made_by(line, attack)
        without = np.flatnonzero((np.asarray(given) != NO_LABEL) & ~made)
        if without.size:
            batch, index = divmod(int(without[0]), self._head.rules.batch_images)
            raise line.refusal(f"image {index} of batch {batch} was not made, so it cannot have a label")
        self._labels[attack, defence] = BundleLabels(given, reasons)

    def _made_by(self, line: Fields, attack: str) -> NDArray[np.bool_]:
        """Return which images an attack made; kept for the next pair, which is usually of the same attack."""
        if self._made is None or self._made[0] != attack:
            made: list[bool] = []
            for number in range(len(self._batches)):
                run = self._attack_runs.get((attack, number))
                if run is None:
                    raise line.refusal(f"the results are incomplete: {quoted(attack)} on batch {number} is missing")
                made += map(bool, run.hashes)
            self._made = attack, np.array(made, np.bool_)
        return self._made[1]

    def _columns_of(self, line: Fields) -> tuple[array[int], tuple[str, ...]]:
        """Return the labels and reasons of a pair of a bundle in parts."""
        labels, images = line.column("labels", "i2"), sum(len(batch.hashes) for batch in self._batches)
        if len(labels) != images:
            raise line.refusal(f"it must have a label for each of the {images} images")
        most = self._head.rules.classes
        if labels.min() < NO_LABEL or labels.max() > most:
            raise line.refusal(f"labels must be whole numbers from {NO_LABEL} to {most}")
        reasons = [""] * len(self._batches)
        for number, reason in line.mapping("reasons").items():
            known = number.isdecimal() and str(int(number)) == number and int(number) < len(reasons)
            if not known or not reason or not isinstance(reason, str):
                raise line.refusal("reasons must be the reason of each failed run by the number of its batch")
            reasons[int(number)] = _reason(line, reason)
        return array("h", labels.astype(np.int16).tobytes()), tuple(reasons)

    def _lists_of(self, line: Fields) -> tuple[array[int], tuple[str, ...]]:
        """Return the labels and reasons of a pair of a bundle of lines."""
        given = line.lists_of_wholes("labels", NO_LABEL, self._head.rules.classes)
        reasons = tuple(_reason(line, reason) for reason in line.texts("reasons"))
        if not len(given) == len(reasons) == len(self._batches):
            raise line.refusal(f"it must have labels and a reason for each of the {len(self._batches)} batches")
        for number, (labels, batch) in enumerate(zip(given, self._batches, strict=True)):
            if len(labels) != len(batch.hashes):
                raise line.refusal(f"batch {number} has {len(batch.hashes)} images, not {len(labels)}")
        return array("h", [label for labels in given for label in labels]), reasons

    def _hashes_of(self, line: Fields) -> tuple[str, ...]:
        return hash_texts(line.column("hashes", HASH)) if self._in_parts else tuple(line.texts("hashes"))

    def _wholes(self, line: Fields, name: str, least: int, most: int) -> list[int]:
        if not self._in_parts:
            return line.wholes(name, least, most)
        column = line.column(name, "i2")
        if column.size and not least <= column.min() <= column.max() <= most:
            raise line.refusal(f"{name} must be whole numbers from {least} to {most}")
        values: list[int] = column.tolist()
        return values

    def _check_size(self) -> None:
        """Raise `BundleRefusal` for more images and labels than memory is meant for, before the first of them."""
        attacks = sum(each.track.is_attack for each in self._entrants.values())
        images = attacks * sum(len(batch.hashes) for batch in self._batches)
        if images > MOST_IMAGES or images * (len(self._entrants) - attacks) > MOST_LABELS:
            raise self._line.refusal("the round is larger than this program can verify")

    def _check_side(self, line: Fields, player: str, *, attacks: bool) -> None:
        entrant = self._entrants.get(player)
        if entrant is None or entrant.track.is_attack != attacks:
            raise line.refusal(f"{quoted(player)} is not {'an attack' if attacks else 'a defence'} of this round")


def _check_next(line: Fields, key: tuple[Any, ...], known: dict[Any, Any]) -> None:
    if known and key <= next(reversed(known)):
        raise line.refusal("it is listed twice, or out of order")


def _place(track: TransferTrack) -> int:
    return list(TransferTrack).index(track)


def _reason(line: Fields, reason: str) -> str:
    if reason not in _REASONS:
        raise line.refusal(f"{quoted(reason)} is not a reason for which a run can fail")
    return reason


def _rules(head: Fields) -> TransferRules:
    values = dict(head.mapping("rules"))
    try:
        rules = TransferRules(
            **values
            | {
                "shape": ImageShape(*_wholes(values["shape"])),
                "epsilons": tuple(_wholes(values["epsilons"])),
                "opponents": Opponents(values["opponents"]),
            }
        )
        fits = rfc8785.canonical(rules.as_dict()) == rfc8785.canonical(values)
    except (KeyError, TypeError, ValueError) as error:
        raise head.refusal(f"its rules cannot be read: {quoted(str(error))}") from None
    if not fits or type(rules.batch_images) is not int or type(rules.classes) is not int:
        raise head.refusal("its rules cannot be read")
    return rules


def _wholes(values: Sequence[Any]) -> list[int]:
    if not all(type(value) is int for value in values):
        raise ValueError("a value must be a whole number")
    return list(values)
