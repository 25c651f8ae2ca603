"""The content of a bundle of the transfer format and its writer: first the given lines, then the standings.

The lines are a head, then one for each batch, each entrant, each batch of an attack, each pair of attack and defence,
and each standing. Nothing in it depends on a clock or on the workers. Bundles of earlier versions are written again
where a site checks a round that was scored by one.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import accumulate
from typing import IO, Any

import numpy as np

from evaluation.bundle import body_in_parts, rfc8785
from evaluation.bundle.binary_columns import hashes
from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.canonical_json import MOST_SAMPLES, canonical, check_readable, encode
from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.scoring.score_intervals import (
    PairImages,
    intervals_of,
    pair_images,
    score_ranks,
    with_intervals,
)
from evaluation.formats.transfer.scoring.scores import TransferStanding, standings

FORMAT = "transfer"
"""The format that the head names."""

VERSION = 4
"""The version of new bundles, which are in parts."""

NARROW_FIELD = 3
"""The last version, of rounds frozen earlier, whose committed field has neither rules nor licences."""

OF_LINES = 2
"""The last version of bundles of lines."""

WITHOUT_INTERVALS = 1
"""The version whose standings have no intervals."""


@dataclass(frozen=True)
class TransferHead:
    """The first line: the round, its rules, and its commitments.

    `seed` decides the epsilons, if they are drawn, and the names of files.
    """

    competition: str
    number: int
    title: str
    kind: str
    rules_version: int
    rules: TransferRules
    seed: int
    commitment: str
    field_salt: str
    field_commitment: str
    version: int = VERSION


@dataclass(frozen=True)
class BundleBatch:
    """A batch: its epsilon and, for each image, the salted hash of the sample, its label and its target class."""

    epsilon: int
    hashes: tuple[str, ...]
    labels: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True)
class BundleEntrant:
    """A player. `baseline` is its name if it is one of the competition's; one without submissions gets no place."""

    track: TransferTrack
    player: str
    baseline: str
    submissions: tuple[BundleSubmission, ...]


@dataclass(frozen=True)
class BundleAttackRun:
    """What an attack made of a batch: the SHA-256 of each image's pixels, empty for those that it did not make.

    `reason` says why the run failed, empty if it did not. `archive` is the SHA-256 of the zip file with the images.
    """

    hashes: tuple[str, ...]
    reason: str
    archive: str


@dataclass(frozen=True)
class BundleLabels:
    """The labels (int16) that a defence gave to all images of an attack, and for each batch why its run failed."""

    labels: array[int]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class TransferRecord:
    """Everything given about a round. `attack_runs` are keyed by (attack, batch), `labels` by (attack, defence)."""

    head: TransferHead
    batches: Sequence[BundleBatch]
    entrants: Sequence[BundleEntrant]
    attack_runs: Mapping[tuple[str, int], BundleAttackRun]
    labels: Mapping[tuple[str, str], BundleLabels]

    @property
    def attacks(self) -> list[BundleEntrant]:
        """The attacks of both tracks."""
        return [entrant for entrant in self.entrants if entrant.track.is_attack]

    @property
    def defences(self) -> list[BundleEntrant]:
        """The defences."""
        return [entrant for entrant in self.entrants if not entrant.track.is_attack]


@dataclass(frozen=True)
class Placed:
    """A standing, and the place in the round: the rank among those that teams submitted, None for a mere baseline.

    The rank interval of the standing is that of the place.
    """

    standing: TransferStanding
    place: int | None


def transfer_field_commitment(head: TransferHead, samples: int, entrants: Sequence[BundleEntrant]) -> str:
    """Return the commitment to the field: the SHA-256, in hexadecimal, of a canonical JSON list.

    The list is [salt, digest of the rules, field]. The field is a list with, for each player in the order of the
    bundle, [track, player, baseline, [[team, commit, licence], ...]]. Up to the version `NARROW_FIELD` the list is
    [salt, field], with [[team, commit], ...].
    """
    if head.version <= NARROW_FIELD:
        narrow = [
            [str(one.track), one.player, one.baseline, [[each.team, each.commit] for each in one.submissions]]
            for one in entrants
        ]
        return sha256(canonical([head.field_salt, narrow])).hexdigest()
    whole = []
    for one in entrants:
        submissions = [[each.team, each.commit, each.licence] for each in one.submissions]
        whole.append([str(one.track), one.player, one.baseline, submissions])
    return sha256(rfc8785.canonical([head.field_salt, _rules_digest(head, samples), whole])).hexdigest()


def _rules_digest(head: TransferHead, samples: int) -> str:
    """Return the SHA-256, in hexadecimal, of everything in the head that decides how the round is played."""
    rules = {
        "round_kind": head.kind,
        "samples": samples,
        "rules_version": head.rules_version,
        "rules": head.rules.as_dict(),
        "seed": str(head.seed),
    }
    return sha256(rfc8785.canonical(rules)).hexdigest()


def pairs_of(record: TransferRecord) -> list[PairCounts]:
    """Return the counts of each attack against each defence. Raise `KeyError` where a run is missing."""
    known = _KnownImages(record)
    return [known.pair(attack, defence).counts for attack in record.attacks for defence in record.defences]


class _KnownImages:
    """What is known of the images, so that pairs can be made one by one: those of a large round exceed the memory.

    Raise `KeyError` where a run is missing.
    """

    def __init__(self, record: TransferRecord) -> None:
        self._record = record
        self._truth = np.array([label for batch in record.batches for label in batch.labels])
        self._targets = np.array([target for batch in record.batches for target in batch.targets])
        self._made = {attack.player: np.array(self._of_attack(attack.player), np.bool_) for attack in record.attacks}

    def _of_attack(self, attack: str) -> list[bool]:
        runs = (self._record.attack_runs[attack, number] for number in range(len(self._record.batches)))
        return [bool(each) for run in runs for each in run.hashes]

    def pair(self, attack: BundleEntrant, defence: BundleEntrant) -> PairImages:
        """Return an attack against a defence, image by image."""
        return pair_images(
            attack.player,
            defence.player,
            targeted=attack.track is TransferTrack.TARGETED_ATTACK,
            made=self._made[attack.player],
            labels=self._record.labels[attack.player, defence.player].labels,
            truth=self._truth,
            targets=self._targets,
        )

    def met(self, player: str) -> list[PairImages]:
        """Return a player against each of its opponents."""
        mine = next(entrant for entrant in self._record.entrants if entrant.player == player)
        if mine.track.is_attack:
            return [self.pair(mine, defence) for defence in self._record.defences]
        return [self.pair(attack, mine) for attack in self._record.attacks]


def places_of(record: TransferRecord) -> list[Placed]:
    """Return the standings of all tracks, best first, and the places that follow from them; equal scores share one."""
    submitted = {entrant.player for entrant in record.entrants if entrant.submissions}
    pairs = pairs_of(record)
    placed: list[Placed] = []
    for track in TransferTrack:
        ranked: list[Placed] = []
        rows = standings(pairs, track, opponents=record.head.rules.opponents, seconds={})
        for row in _with_intervals(record, rows, pairs, submitted):
            if row.name not in submitted:
                placed.append(Placed(row, None))
                continue
            tied = bool(ranked) and ranked[-1].standing.score == row.score
            ranked.append(Placed(row, ranked[-1].place if tied else len(ranked) + 1))
            placed.append(ranked[-1])
    return placed


def write_body(record: TransferRecord, file: IO[bytes]) -> None:
    """Write all lines of a finished round, without the signature. The bytes are the same for the same round.

    Raise `ValueError` where a run is missing or the bundle would be too large to read.
    """
    if (samples := _samples(record)) > MOST_SAMPLES:
        raise ValueError(f"the round has {samples:,} samples, but a bundle holds at most {MOST_SAMPLES:,}")
    try:
        if record.head.version > OF_LINES:
            body_in_parts.write(_lines(record), file)
        else:
            content = encode(_lines(record))
            check_readable(content)
            file.write(content)
    except KeyError as missing:
        raise ValueError(f"the run of {missing} is missing") from missing


def _lines(record: TransferRecord) -> Iterator[Mapping[str, Any]]:
    in_parts = record.head.version > OF_LINES
    yield _head(record)
    for line in _batches(record):
        yield _batch_in_columns(line) if in_parts else line
    yield from _entrants(record)
    for line in _attack_runs(record):
        yield line | {"hashes": hashes(line["hashes"])} if in_parts else line
    yield from _labels(record) if in_parts else _labels_by_batch(record)
    yield from standing_lines(record)


def standing_lines(record: TransferRecord) -> list[dict[str, Any]]:
    """Return the derived lines in order."""
    return [_standing(placed, record.head.version) for placed in places_of(record)]


def _standing(placed: Placed, version: int) -> dict[str, Any]:
    row = placed.standing
    line = {
        "kind": "standing",
        "track": str(row.track),
        "player": row.name,
        "place": placed.place,
        "score": row.score,
        "worst": row.worst,
        "raw": row.raw,
        "coverage": row.coverage,
        "opponents": row.opponents,
    }
    if version == WITHOUT_INTERVALS:
        return line
    return line | {"low": row.low, "high": row.high, "rank_low": row.rank_low, "rank_high": row.rank_high}


def _with_intervals(
    record: TransferRecord, rows: Sequence[TransferStanding], pairs: Sequence[PairCounts], submitted: Collection[str]
) -> list[TransferStanding]:
    """Return the standings of a track with their intervals, and the rank intervals of those that get a place."""
    if record.head.version == WITHOUT_INTERVALS:
        return list(rows)
    epsilons = [batch.epsilon for batch in record.batches for _ in batch.hashes]
    opponents = record.head.rules.opponents
    intervals = intervals_of(pairs, rows, _KnownImages(record).met, epsilons=epsilons, opponents=opponents)
    scores = {row.name: row.score for row in rows if row.score is not None and row.name in submitted}
    return with_intervals(rows, intervals, score_ranks(scores, intervals))


def _samples(record: TransferRecord) -> int:
    return sum(len(batch.hashes) for batch in record.batches)


def _head(record: TransferRecord) -> dict[str, Any]:
    head = record.head
    return {
        "kind": "head",
        "format": FORMAT,
        "version": head.version,
        "competition": head.competition,
        "round": head.number,
        "title": head.title,
        "round_kind": head.kind,
        "samples": _samples(record),
        "rules_version": head.rules_version,
        "rules": head.rules.as_dict(),
        "seed": str(head.seed) if head.version > OF_LINES else head.seed,  # RFC 8785 has no larger numbers than doubles
        "commitment": head.commitment,
        "field_salt": head.field_salt,
        "field_commitment": head.field_commitment,
    }


def _batches(record: TransferRecord) -> Iterator[dict[str, Any]]:
    for number, batch in enumerate(record.batches):
        yield {
            "kind": "batch",
            "batch": number,
            "epsilon": batch.epsilon,
            "hashes": list(batch.hashes),
            "labels": list(batch.labels),
            "targets": list(batch.targets),
        }


def _batch_in_columns(line: Mapping[str, Any]) -> dict[str, Any]:
    labels, targets = (np.array(line[name], "<i2") for name in ("labels", "targets"))
    return {**line, "hashes": hashes(line["hashes"]), "labels": labels, "targets": targets}


def _entrants(record: TransferRecord) -> Iterator[dict[str, Any]]:
    for entrant in record.entrants:
        yield {
            "kind": "entrant",
            "track": str(entrant.track),
            "player": entrant.player,
            "baseline": entrant.baseline,
            "submissions": [asdict(one) for one in entrant.submissions],
        }


def _attack_runs(record: TransferRecord) -> Iterator[dict[str, Any]]:
    for attack in sorted(entrant.player for entrant in record.attacks):
        for number in range(len(record.batches)):
            run = record.attack_runs[attack, number]
            yield {
                "kind": "attack",
                "attack": attack,
                "batch": number,
                "made": sum(map(bool, run.hashes)),
                "hashes": list(run.hashes),
                "reason": run.reason,
                "archive": run.archive,
            }


def _labels(record: TransferRecord) -> Iterator[dict[str, Any]]:
    for attack, defence, given in _pairs(record):
        reasons = {str(number): reason for number, reason in enumerate(given.reasons) if reason}
        labels = np.array(given.labels, "<i2")
        yield {"kind": "labels", "attack": attack, "defence": defence, "labels": labels, "reasons": reasons}


def _labels_by_batch(record: TransferRecord) -> Iterator[dict[str, Any]]:
    ends = list(accumulate(len(batch.hashes) for batch in record.batches))
    for attack, defence, given in _pairs(record):
        yield {
            "kind": "labels",
            "attack": attack,
            "defence": defence,
            "labels": [given.labels[start:end].tolist() for start, end in zip([0, *ends], ends, strict=False)],
            "reasons": list(given.reasons),
        }


def _pairs(record: TransferRecord) -> Iterator[tuple[str, str, BundleLabels]]:
    for attack in sorted(entrant.player for entrant in record.attacks):
        for defence in sorted(entrant.player for entrant in record.defences):
            yield attack, defence, record.labels[attack, defence]
