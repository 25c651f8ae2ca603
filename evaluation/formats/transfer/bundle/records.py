"""The content of a bundle of the transfer format and its writer: first the given lines, then the standings.

The lines are a head, then one for each batch, each entrant, each batch of an attack, each pair of attack and defence,
and each standing. A pair has one line, not one for each batch, so that 90 attacks and 70 defences on 1,000 images stay
within the number of lines that a bundle may have. Nothing in it depends on a clock or on the workers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from evaluation.bundle.canonical_json import MOST_SAMPLES, canonical, check_readable, encode
from evaluation.bundle.player_submissions import BundleSubmission
from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.scoring.intervals import (
    PairImages,
    pair_images,
    score_intervals,
    score_ranks,
    with_intervals,
)
from evaluation.formats.transfer.scoring.scores import TransferStanding, standings

FORMAT = "transfer"
"""The format that the head names."""

VERSION = 2
"""The version of these lines. In version 1 a standing had no intervals."""


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
    """The labels that a defence gave to the images of an attack, and why each run failed: one entry for each batch."""

    labels: tuple[tuple[int, ...], ...]
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


def transfer_field_commitment(salt: str, entrants: Sequence[BundleEntrant]) -> str:
    """Return the commitment to the field: the SHA-256, in hexadecimal, of the canonical JSON list of `salt` and field.

    The field is a list with, for each player in the order of the bundle, [track, player, baseline, [[team, commit],
    ...]].
    """
    field = [
        [str(one.track), one.player, one.baseline, [[each.team, each.commit] for each in one.submissions]]
        for one in entrants
    ]
    return sha256(canonical([salt, field])).hexdigest()


def pairs_of(record: TransferRecord) -> list[PairCounts]:
    """Return the counts of each attack against each defence. Raise `KeyError` where a run is missing."""
    return [pair.counts for pair in images_of(record)]


def images_of(record: TransferRecord) -> list[PairImages]:
    """Return each attack against each defence, image by image. Raise `KeyError` where a run is missing."""
    truth = [label for batch in record.batches for label in batch.labels]
    targets = [target for batch in record.batches for target in batch.targets]
    found = []
    for attack in record.attacks:
        runs = [record.attack_runs[attack.player, number] for number in range(len(record.batches))]
        made = [bool(each) for run in runs for each in run.hashes]
        found += [
            pair_images(
                attack.player,
                defence.player,
                targeted=attack.track is TransferTrack.TARGETED_ATTACK,
                made=made,
                labels=[label for labels in record.labels[attack.player, defence.player].labels for label in labels],
                truth=truth,
                targets=targets,
            )
            for defence in record.defences
        ]
    return found


def places_of(record: TransferRecord) -> list[Placed]:
    """Return the standings of all tracks, best first, and the places that follow from them; equal scores share one."""
    submitted = {entrant.player for entrant in record.entrants if entrant.submissions}
    images = images_of(record)
    pairs = [each.counts for each in images]
    placed: list[Placed] = []
    for track in TransferTrack:
        ranked: list[Placed] = []
        rows = standings(pairs, track, opponents=record.head.rules.opponents, seconds={})
        for row in _with_intervals(record, rows, images, submitted):
            if row.name not in submitted:
                placed.append(Placed(row, None))
                continue
            tied = bool(ranked) and ranked[-1].standing.score == row.score
            ranked.append(Placed(row, ranked[-1].place if tied else len(ranked) + 1))
            placed.append(ranked[-1])
    return placed


def body(record: TransferRecord) -> bytes:
    """Return all lines of a finished round, without the signature. The bytes are the same for the same round.

    Raise `ValueError` where a run is missing or the bundle would be too large to read.
    """
    if (samples := _samples(record)) > MOST_SAMPLES:
        raise ValueError(f"the round has {samples:,} samples, but a bundle holds at most {MOST_SAMPLES:,}")
    lines: list[Mapping[str, Any]] = [_head(record), *_batches(record), *_entrants(record)]
    try:
        content = encode([*lines, *_attack_runs(record), *_labels(record), *standing_lines(record)])
    except KeyError as missing:
        raise ValueError(f"the run of {missing} is missing") from missing
    check_readable(content)
    return content


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
    if version < VERSION:
        return line
    return line | {"low": row.low, "high": row.high, "rank_low": row.rank_low, "rank_high": row.rank_high}


def _with_intervals(
    record: TransferRecord, rows: Sequence[TransferStanding], images: Sequence[PairImages], submitted: Collection[str]
) -> list[TransferStanding]:
    """Return the standings of a track with their intervals, and the rank intervals of those that get a place."""
    if record.head.version < VERSION:
        return list(rows)
    epsilons = [batch.epsilon for batch in record.batches for _ in batch.hashes]
    intervals = score_intervals(images, rows, epsilons=epsilons, opponents=record.head.rules.opponents)
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
        "seed": head.seed,
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
    for attack in sorted(entrant.player for entrant in record.attacks):
        for defence in sorted(entrant.player for entrant in record.defences):
            given = record.labels[attack, defence]
            yield {
                "kind": "labels",
                "attack": attack,
                "defence": defence,
                "labels": [list(labels) for labels in given.labels],
                "reasons": list(given.reasons),
            }
