"""A result bundle read and checked for consistency: given lines as values, derived lines as they stand in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.bundle.binary_columns import HASH, hash_texts, require_none
from evaluation.bundle.bundle_submission import BundleSubmission, read_submission
from evaluation.bundle.canonical_json import MOST_SAMPLES, commitment_of
from evaluation.bundle.checked_fields import MOST_DISTANCE, MOST_WHOLE, Fields
from evaluation.bundle.derived_lines import DerivedLine
from evaluation.bundle.line_order_check import in_order
from evaluation.bundle.signature_check import BundleBody
from evaluation.domain.players import TrackName
from evaluation.formats.query.bundle.writer import (
    FORMATS,
    NARROW_FIELD,
    OF_LINES,
    OUTCOMES,
    BundleHead,
    BundlePiece,
    BundleSample,
    Record,
    field_commitment_of,
)
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.scoring.scored_distances import scored_distance
from evaluation.formats.query.tournament.round_state import RoundEntrant, RoundFacts, SampleRow

MOST_PLAYERS = 1000
"""The largest number of players of a track in a bundle that is read."""

MOST_TRIPLES = 50_000_000
"""The largest product of models, attacks and samples in a bundle that is read, so that its arrays fit into memory."""

MOST_ROWS = 2_000_000
"""The largest number of sample results in a bundle that is read."""

_ORDER = {
    "head": 0,
    "sample": 1,
    "entrant": 2,
    "results": 3,
    "audit": 4,
    "kept": 5,
    "stage": 6,
    "decision": 6,
    "place": 7,
    "warning": 8,
}
_FIRST_DERIVED = _ORDER["stage"]
_HEAD = {
    *("format", "competition", "round", "title", "round_kind", "schedule", "guard", "sweep"),
    *("samples", "rules_version", "rules", "commitment", "field_salt", "field_commitment"),
}
_ENTRANT = {"track", "player", "teams", "bundled", "order", "prior", "submissions"}
_SAMPLE = {"sample", "hash", "worst_case"}
_RESULTS = {"model", "attack", "seed", "outcomes", "distances", "queries", "pieces"}
_RESULTS_IN_COLUMNS = _RESULTS - {"pieces"} | {"piece_ends", "piece_digests"}
_PIECE = {"end", "digest"}
_AUDIT = {"model", "attack", "failed_on"}
_KEPT = {"model", "reason"}
_HASH = re.compile(r"[0-9a-f]{64}")
_FINAL = "final"
_ALLOWED = {
    Outcome.FAILED: "it must be the worst case of the sample",
    Outcome.CLEAN_WRONG: "it must be 0",
    Outcome.ADVERSARIAL: "it must not be above the worst case of the sample",
}


@dataclass(frozen=True)
class Bundle:
    """A bundle without its signature. `results_at` are the numbers of the lines that hold the pairs (model, attack)."""

    record: Record
    derived: tuple[DerivedLine, ...]
    results_at: Mapping[tuple[str, str], int]


def read(body: BundleBody) -> Bundle:
    """Read the body of a bundle, without the line of the signature.

    Raise `BundleRefusal` for the first line that is malformed, misplaced, or contradicts the lines before it.
    """
    lines = in_order(body, _ORDER)
    reading = _QueryBundleReading(Fields(1, next(lines), names=_HEAD))
    derived = []
    for number, line in enumerate(lines, start=2):
        if _ORDER[line["kind"]] >= _FIRST_DERIVED:
            require_none(number, line)
            derived.append(DerivedLine(number, line["kind"], body.canonical(line)))
        else:
            reading.take(number, line)
    return Bundle(reading.record(), tuple(derived), reading.results_at)


class _QueryBundleReading:
    """The state of reading the given lines one after the other."""

    def __init__(self, head: Fields) -> None:
        self._head = head
        self._format = head.whole("format")
        if self._format not in FORMATS:
            known = ", ".join(map(str, FORMATS))
            raise head.refusal(f"its format is not one of {known}, those that this version reads")
        self._in_parts = self._format > OF_LINES
        self._rows = 0
        self._count = head.whole("samples", 1, MOST_SAMPLES)
        self._budget = _query_budget(head)
        self._samples: dict[str, BundleSample] = {}
        self._entrants: list[RoundEntrant] = []
        self._priors: dict[TrackName, dict[int, str]] = {track: {} for track in TrackName}
        self._track_of: dict[str, TrackName] = {}
        self._submissions: dict[str, tuple[BundleSubmission, ...]] = {}
        self._eligible_at_freeze: dict[str, tuple[bool, ...]] = {}
        self._results: dict[tuple[str, str], dict[int, SampleRow]] = {}
        self._seeds: dict[tuple[str, str], int] = {}
        self._pieces: dict[tuple[str, str], tuple[BundlePiece, ...]] = {}
        self._failed_audits: dict[tuple[str, str], tuple[int, ...]] = {}
        self._kept: dict[str, str] = {}
        self.results_at: dict[tuple[str, str], int] = {}

    def take(self, number: int, line: Mapping[str, Any]) -> None:
        """Read one more line."""
        if line["kind"] == "sample":
            self._sample(Fields(number, line, names=_SAMPLE))
        elif line["kind"] == "entrant":
            self._entrant(
                Fields(
                    number, line, names=_ENTRANT | (set() if self._format == NARROW_FIELD else {"eligible_at_freeze"})
                )
            )
        elif line["kind"] == "results":
            self._result(Fields(number, line, names=_RESULTS_IN_COLUMNS if self._in_parts else _RESULTS))
        elif line["kind"] == "audit":
            self._audit(Fields(number, line, names=_AUDIT))
        else:
            self._keep(Fields(number, line, names=_KEPT))

    def record(self) -> Record:
        """Return everything that was given, after all lines are read."""
        head = self._head
        if len(self._samples) != self._count:
            raise head.refusal(f"it names {self._count} samples, but {len(self._samples)} follow")
        if head.text("commitment") != commitment_of(list(self._samples)):
            raise head.refusal("the commitment does not match the hashes of the samples")
        self._check_size()
        final = head.text("round_kind") == _FINAL
        if self._format == NARROW_FIELD and final != head.flag("sweep"):
            raise head.refusal("a final needs a sweep, and no other round of this format may have one")
        if self._format != NARROW_FIELD and not head.flag("sweep"):
            raise head.refusal("every round of this format needs a sweep")
        known = BundleHead(
            competition=head.text("competition"),
            number=head.whole("round"),
            title=head.text("title"),
            kind=head.text("round_kind"),
            rules_version=head.whole("rules_version"),
            rules=head.mapping("rules"),
            commitment=head.text("commitment"),
            field_salt=head.text("field_salt"),
            field_commitment=head.text("field_commitment"),
            format=self._format,
        )
        facts = RoundFacts(
            schedule=head.text("schedule"),
            guard=head.flag("guard"),
            samples=self._count,
            sweep=head.flag("sweep"),
            entrants=tuple(self._entrants),
            priors={track: self._prior(track) for track in TrackName},
            results=self._results,
            failed_audits=self._failed_audits,
            kept=self._kept,
        )
        if known.field_commitment != field_commitment_of(known, facts, self._submissions, self._eligible_at_freeze):
            raise head.refusal("the commitment to the field does not match the entrants and the rules")
        samples = tuple(self._samples.values())
        return Record(known, facts, samples, self._submissions, self._seeds, self._pieces, self._eligible_at_freeze)

    def _check_size(self) -> None:
        of_track = [sum(entrant.track is track for entrant in self._entrants) for track in TrackName]
        models, attacks = of_track[0], max(of_track[1:])
        if max(of_track) > MOST_PLAYERS or models * attacks * self._count > MOST_TRIPLES:
            raise self._head.refusal("the round is larger than this program can verify")

    def _prior(self, track: TrackName) -> tuple[str, ...]:
        places = self._priors[track]
        if sorted(places) != list(range(1, len(places) + 1)):
            raise self._head.refusal(f"the priors of the track {track} are not 1 to {len(places)}")
        return tuple(places[place] for place in sorted(places))

    def _sample(self, line: Fields) -> None:
        if len(self._samples) == self._count:
            raise line.refusal(f"the head names only {self._count} samples")
        if line.whole("sample") != len(self._samples):
            raise line.refusal(f"it should be sample {len(self._samples)}")
        sample = BundleSample(line.text("hash"), line.distance("worst_case"))
        if not _HASH.fullmatch(sample.hash):
            raise line.refusal("its hash is not 64 hexadecimal digits")
        if sample.hash in self._samples:
            raise line.refusal("the sample is listed twice")
        self._samples[sample.hash] = sample

    def _entrant(self, line: Fields) -> None:
        track, player, prior = line.word("track", TrackName), line.text("player"), line.whole("prior", 1)
        if player in self._track_of:
            raise line.refusal("the player is listed twice")
        entered = len(self._priors[track])
        if line.whole("order", 1) != entered + 1:
            raise line.refusal(f"it should be number {entered + 1} in the order of entry of its track")
        if prior in self._priors[track]:
            raise line.refusal(f"another player of its track also has the prior {prior}")
        self._track_of[player] = track
        self._priors[track][prior] = player
        self._submissions[player] = submissions = tuple(
            read_submission(line.number, one) for one in line.mappings("submissions")
        )
        teams = tuple(line.texts("teams"))
        if teams != tuple(one.team for one in submissions) or len(set(teams)) < len(teams) or not teams:
            raise line.refusal("its teams must be those of its submissions, at least one, in their order, each once")
        if self._format != NARROW_FIELD:
            self._eligible_at_freeze[player] = tuple(line.flags("eligible_at_freeze"))
            if len(self._eligible_at_freeze[player]) != len(submissions):
                raise line.refusal("eligible_at_freeze must have one value for each submission")
        self._entrants.append(RoundEntrant(track, player, teams, line.flag("bundled")))

    def _result(self, line: Fields) -> None:
        pair = line.text("model"), line.text("attack")
        self._check_pair(line, *pair)
        if self.results_at and pair <= next(reversed(self.results_at)):
            raise line.refusal("the pair is listed twice, or out of order")
        outcomes, distances, queries = self._columns_of(line) if self._in_parts else _lists_of(line)
        if max(queries, default=0) > self._budget:
            raise line.refusal(f"it holds more than the {self._budget} queries that the rules allow for a sample")
        if not 0 < len(outcomes) == len(distances) == len(queries) <= len(self._samples):
            raise line.refusal("its columns must have one length, from 1 to the number of samples")
        self._rows += len(outcomes)
        if self._rows > MOST_ROWS:
            raise line.refusal(f"the round has more than {MOST_ROWS:,} results, the most that this program can verify")
        rows = [SampleRow(*row) for row in zip(outcomes, distances, queries, strict=True)]
        for number, (row, sample) in enumerate(zip(rows, self._samples.values(), strict=False)):
            _check_row(line, number, row, sample.worst_case)
        self._results[pair] = dict(enumerate(rows))
        self._seeds[pair] = line.large("seed") if self._in_parts else line.whole("seed", -MOST_WHOLE)
        listed = _pieces_in_columns(line) if self._in_parts else _pieces_in_lists(line, len(rows))
        self._pieces[pair] = tuple(_pieces(line, listed, len(rows)))
        self.results_at[pair] = line.number

    def _columns_of(self, line: Fields) -> tuple[Sequence[Outcome], Sequence[float], Sequence[int]]:
        """Return the results of a pair of a bundle in parts."""
        numbers, distances = line.column("outcomes", "u1"), line.column("distances", "f8")
        if numbers.size and numbers.max() >= len(OUTCOMES):
            raise line.refusal(f"outcomes must be numbers from 0 to {len(OUTCOMES) - 1}")
        # the sign too: -0.0 would be a second way to write 0
        if not ((distances >= 0) & (distances <= MOST_DISTANCE) & ~np.signbit(distances)).all():
            raise line.refusal(f"distances must be from 0 to {MOST_DISTANCE:.0f}")
        return [OUTCOMES[number] for number in numbers], distances.tolist(), line.column("queries", "u4").tolist()

    def _check_pair(self, line: Fields, model: str, attack: str) -> None:
        if self._track_of.get(model) is not TrackName.MODEL:
            raise line.refusal("its model is not a model of this round")
        if self._track_of.get(attack, TrackName.MODEL) is TrackName.MODEL:
            raise line.refusal("its attack is not an attack of this round")

    def _audit(self, line: Fields) -> None:
        pair = line.text("model"), line.text("attack")
        self._check_pair(line, *pair)
        if self._failed_audits and pair <= next(reversed(self._failed_audits)):
            raise line.refusal("the pair is listed twice, or out of order")
        counts = line.wholes("failed_on")
        if not counts or counts != sorted(set(counts)) or not 0 < counts[0] <= counts[-1] <= self._count:
            raise line.refusal("failed_on must be numbers of samples, at least one, ascending")
        self._failed_audits[pair] = tuple(counts)

    def _keep(self, line: Fields) -> None:
        model = line.text("model")
        if model not in {failed for failed, _ in self._failed_audits}:
            raise line.refusal("all audits of the model passed, so it cannot be kept")
        if self._kept and model <= next(reversed(self._kept)):
            raise line.refusal("the model is listed twice, or out of order")
        if not line.text("reason"):
            raise line.refusal("a kept model needs a reason")
        self._kept[model] = line.text("reason")


def _lists_of(line: Fields) -> tuple[Sequence[Outcome], Sequence[float], Sequence[int]]:
    """Return the results of a pair of a bundle of lines."""
    return line.words("outcomes", Outcome), line.distances("distances"), line.wholes("queries")


def _pieces_in_columns(line: Fields) -> list[BundlePiece]:
    ends, digests = line.column("piece_ends", "u4").tolist(), hash_texts(line.column("piece_digests", HASH))
    if len(ends) != len(digests):
        raise line.refusal("each piece must have an end and a digest")
    return list(map(BundlePiece, ends, digests))


def _pieces_in_lists(line: Fields, samples: int) -> Iterator[BundlePiece]:
    for one in line.mappings("pieces"):
        piece = Fields(line.number, one, names=_PIECE)
        yield BundlePiece(piece.whole("end", 1, samples), piece.text("digest"))


def _pieces(line: Fields, listed: Iterable[BundlePiece], samples: int) -> Iterator[BundlePiece]:
    end = 0
    for piece in listed:
        if not end < piece.end <= samples:
            raise line.refusal(f"end must be a whole number from {end + 1} to {samples}")
        if not _HASH.fullmatch(piece.digest):
            raise line.refusal("the digest of a piece is not 64 hexadecimal digits")
        end = piece.end
        yield piece
    if end != samples:
        raise line.refusal("its pieces do not cover its samples")


def _query_budget(head: Fields) -> int:
    budget = head.mapping("rules").get("query_budget", MOST_WHOLE)
    if type(budget) is not int:
        raise head.refusal("query_budget of the rules must be a whole number")
    return budget


def _check_row(line: Fields, number: int, row: SampleRow, worst_case: float) -> None:
    """Check that the distance fits the outcome (`scored_distance`)."""
    if row.distance != scored_distance(row.outcome, row.distance, worst_case):
        raise line.refusal(
            f"sample {number} is {row.outcome}, so its distance cannot be {row.distance}: {_ALLOWED[row.outcome]}"
        )
