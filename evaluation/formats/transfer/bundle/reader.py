"""A bundle of the transfer format, read and checked for consistency: untrusted lines as values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.bundle.canonical_json import MOST_SAMPLES, canonical, commitment_of, decode
from evaluation.bundle.checked_fields import Fields, quoted
from evaluation.bundle.line_order_check import in_order
from evaluation.bundle.player_submissions import read_submission
from evaluation.bundle.sample_hash import NO_TARGET
from evaluation.domain.images import ImageShape
from evaluation.formats.transfer.bundle.records import (
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
class StandingLine:
    """A standing as it stands in the file, with the number of its line."""

    number: int
    line: Mapping[str, Any]


@dataclass(frozen=True)
class TransferBundle:
    """A bundle without its signature. `attacks_at` are the numbers of the lines of the runs (attack, batch)."""

    record: TransferRecord
    standings: tuple[StandingLine, ...]
    attacks_at: Mapping[tuple[str, int], int]


def written_version(head: bytes) -> int:
    """Return the version that the first line of a bundle of this site names."""
    return int(json.loads(head)["version"])


def read(content: bytes) -> TransferBundle:
    """Read the body of a bundle, without the line of the signature.

    Raise `BundleRefusal` for the first line that is malformed, misplaced, or contradicts the lines before it.
    """
    lines = in_order(decode(content), _ORDER)
    reading = _TransferBundleReading(Fields(1, next(lines), names=_HEAD))
    standings = []
    for number, line in enumerate(lines, start=2):
        if line["kind"] == "standing":
            standings.append(StandingLine(number, line))
        else:
            reading.take(number, line)
    return TransferBundle(reading.record(), tuple(standings), reading.attacks_at)


class _TransferBundleReading:
    """The state of reading the given lines one after the other."""

    def __init__(self, head: Fields) -> None:
        version = head.whole("version")
        if not 1 <= version <= VERSION:
            raise head.refusal(f"its version is not from 1 to {VERSION}, those that this program reads")
        self._line = head
        self._head = TransferHead(
            competition=head.text("competition"),
            number=head.whole("round"),
            title=head.text("title"),
            kind=head.text("round_kind"),
            rules_version=head.whole("rules_version"),
            rules=_rules(head),
            seed=head.whole("seed"),
            commitment=head.text("commitment"),
            field_salt=head.text("field_salt"),
            field_commitment=head.text("field_commitment"),
            version=version,
        )
        samples = head.whole("samples", 1, MOST_SAMPLES)
        self._sizes = batch_sizes(samples, self._head.rules, self._head.seed)
        self._batches: list[BundleBatch] = []
        self._hashes: set[str] = set()
        self._entrants: dict[str, BundleEntrant] = {}
        self._attack_runs: dict[tuple[str, int], BundleAttackRun] = {}
        self._labels: dict[tuple[str, str], BundleLabels] = {}
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
        if self._head.field_commitment != transfer_field_commitment(self._head.field_salt, entrants):
            raise self._line.refusal("the commitment to the field does not match the entrants")
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
        hashes, labels = tuple(line.texts("hashes")), line.wholes("labels", 0, most)
        targets = line.wholes("targets", NO_TARGET, most)
        if not len(hashes) == len(labels) == len(targets) == images:
            raise line.refusal(f"its columns must have {images} entries each")
        if not all(map(_HASH.fullmatch, hashes)):
            raise line.refusal("the hash of a sample is not 64 hexadecimal digits")
        known = len(self._hashes)
        self._hashes.update(hashes)
        if len(self._hashes) < known + images:
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
        _check_next(line, (attack, number), self._attack_runs)
        hashes, archive = tuple(line.texts("hashes")), line.text("archive")
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
        given = line.lists_of_wholes("labels", NO_LABEL, self._head.rules.classes)
        reasons = [_reason(line, reason) for reason in line.texts("reasons")]
        if not len(given) == len(reasons) == len(self._batches):
            raise line.refusal(f"it must have labels and a reason for each of the {len(self._batches)} batches")
        for number, labels in enumerate(given):
            run = self._attack_runs.get((attack, number))
            if run is None:
                raise line.refusal(f"the results are incomplete: {quoted(attack)} on batch {number} is missing")
            if len(labels) != len(run.hashes):
                raise line.refusal(f"batch {number} has {len(run.hashes)} images, not {len(labels)}")
            for index, (label, made) in enumerate(zip(labels, run.hashes, strict=True)):
                if label != NO_LABEL and not made:
                    raise line.refusal(f"image {index} of batch {number} was not made, so it cannot have a label")
        self._labels[attack, defence] = BundleLabels(tuple(map(tuple, given)), tuple(reasons))

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
        fits = canonical(rules.as_dict()) == canonical(values)
    except (KeyError, TypeError, ValueError) as error:
        raise head.refusal(f"its rules cannot be read: {quoted(str(error))}") from None
    if not fits or type(rules.batch_images) is not int or type(rules.classes) is not int:
        raise head.refusal("its rules cannot be read")
    return rules


def _wholes(values: Sequence[Any]) -> list[int]:
    if not all(type(value) is int for value in values):
        raise ValueError("a value must be a whole number")
    return list(values)
