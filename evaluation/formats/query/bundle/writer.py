"""The content of a result bundle and its writer: first the given lines, then all lines derived from them.

Nothing in it depends on a clock, on the order in which results arrived, or on the workers: the SHA-256 of the body is
the snapshot hash of a round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import IO, Any

import numpy as np

from evaluation.bundle import body_in_parts, rfc8785
from evaluation.bundle.binary_columns import hashes
from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.canonical_json import MOST_SAMPLES, Canonical, canonical, check_readable, encode
from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament.final_ranking import FinalPlace
from evaluation.formats.query.tournament.round_state import (
    BracketPlan,
    RoundEntrant,
    RoundFacts,
    RoundState,
    SampleRow,
    advance,
    demanded,
)
from evaluation.formats.query.tournament.schedule_output import Stage, StageDecision
from evaluation.formats.query.tournament.warning_sweep import Warned

FORMAT = 4
"""The version of new bundles, which are in parts."""

OF_LINES = 3
"""The last version of bundles of lines, of rounds frozen earlier."""

NARROW_FIELD = 2
"""The version before, of rounds frozen earlier: the committed field has neither rules nor `bundled` nor licences, only
finals have a sweep, and a warning has no median."""

FORMATS = (NARROW_FIELD, OF_LINES, FORMAT)
"""The versions that are read and written."""

OUTCOMES = (Outcome.ADVERSARIAL, Outcome.FAILED, Outcome.CLEAN_WRONG)
"""The outcomes by their numbers in columns."""


@dataclass(frozen=True)
class BundleHead:
    """The first line: the round and its rules.

    `rules` are plain values, `commitment` is the result of `commitment_of`, `field_commitment` that of
    `field_commitment_of` with `field_salt`. `format` is one of `FORMATS`.
    """

    competition: str
    number: int
    title: str
    kind: str
    rules_version: int
    rules: Mapping[str, Any]
    commitment: str
    field_salt: str
    field_commitment: str
    format: int = FORMAT

    @property
    def canonical(self) -> Canonical:
        """The canonical form of the commitment to the field and of the lines."""
        return canonical if self.format <= OF_LINES else rfc8785.canonical


@dataclass(frozen=True)
class BundleSample:
    """A sample by its salted hash, and its worst-case distance (L2 over pixels / 255)."""

    hash: str
    worst_case: float


@dataclass(frozen=True)
class BundlePiece:
    """The SHA-256 of the file with the perturbed images and the query trace of a piece of a pair.

    `end` is the number of the first sample after it.
    """

    end: int
    digest: str


@dataclass(frozen=True)
class Record:
    """Everything given about a round, before anything is derived.

    `samples` are in the order of their numbers, from 0. `submissions` are keyed by player, in the order of entry: one
    for each of its teams. `seeds` (of the referee) and `pieces`, in the order of their samples, are keyed by
    (model, attack). `eligible_at_freeze` has for each submission whether it could win prizes when the field was
    committed to: until the publication, organisers confirm and refuse licences.
    """

    head: BundleHead
    facts: RoundFacts
    samples: Sequence[BundleSample]
    submissions: Mapping[str, Sequence[BundleSubmission]]
    seeds: Mapping[tuple[str, str], int]
    pieces: Mapping[tuple[str, str], Sequence[BundlePiece]]
    eligible_at_freeze: Mapping[str, Sequence[bool]] = field(default_factory=dict)


def field_commitment_of(
    head: BundleHead,
    facts: RoundFacts,
    submissions: Mapping[str, Sequence[BundleSubmission]],
    eligible_at_freeze: Mapping[str, Sequence[bool]],
) -> str:
    """Return the commitment to the field: the SHA-256, in hexadecimal, of a canonical JSON list.

    The list is [salt, digest of the rules, field]. The field is a list with, for each player in the order of the
    bundle, [track, order, prior, player, bundled, teams, [[team, commit, licence, eligible at the freeze], ...]]. In
    the format `NARROW_FIELD` the list is [salt, field], with [track, order, prior, player, [[team, commit], ...]].
    """
    if head.format == NARROW_FIELD:
        narrow = [
            [track, order, prior, entrant.player, [[one.team, one.commit] for one in submissions[entrant.player]]]
            for track, order, prior, entrant in _field(facts)
        ]
        return sha256(canonical([head.field_salt, narrow])).hexdigest()
    whole = []
    for track, order, prior, entrant in _field(facts):
        pairs = zip(submissions[entrant.player], eligible_at_freeze[entrant.player], strict=True)
        frozen = [[one.team, one.commit, one.licence, eligible] for one, eligible in pairs]
        whole.append([track, order, prior, entrant.player, entrant.bundled, list(entrant.teams), frozen])
    return sha256(head.canonical([head.field_salt, _rules_digest(head, facts), whole])).hexdigest()


def _rules_digest(head: BundleHead, facts: RoundFacts) -> str:
    """Return the SHA-256, in hexadecimal, of everything in the head that decides how the round is played."""
    rules = {
        "round_kind": head.kind,
        "schedule": facts.schedule,
        "guard": facts.guard,
        "sweep": facts.sweep,
        "samples": facts.samples,
        "rules_version": head.rules_version,
        "rules": dict(head.rules),
    }
    return sha256(head.canonical(rules)).hexdigest()


def write_body(record: Record, file: IO[bytes]) -> None:
    """Write all lines of a finished round, without the signature. The bytes are the same for the same round.

    Results that the schedule never demanded are left out: nothing follows from them. Raise `ValueError` where the round
    is not finished, the parts contradict each other, or the bundle would be too large to read.
    """
    state = advance(record.facts)
    if not state.over:
        raise ValueError("the round is not finished: there is nothing to write yet")
    if len(record.samples) != record.facts.samples:
        raise ValueError(f"there are {len(record.samples)} samples, but the round has {record.facts.samples}")
    if record.facts.samples > MOST_SAMPLES:
        raise ValueError(f"the round has {record.facts.samples:,} samples, but a bundle holds at most {MOST_SAMPLES:,}")
    if record.head.format > OF_LINES:
        body_in_parts.write(_lines(record, state), file)
        return
    content = encode(_lines(record, state))
    check_readable(content)
    file.write(content)


def _lines(record: Record, state: RoundState) -> Iterator[Mapping[str, Any]]:
    asked = demanded(record.facts, state)
    audits = list(_audits(record.facts, asked))
    yield _head(record)
    yield from _samples(record)
    yield from _entrants(record)
    yield from _results(record, asked)
    yield from audits
    yield from _kept(record.facts, {audit["model"] for audit in audits})
    yield from derived_lines(state, record.head.format)


def derived_lines(state: RoundState, version: int = FORMAT) -> list[dict[str, Any]]:
    """Return the derived lines of a bundle of this format in order: stages with their decisions, places, warnings."""
    lines = []
    for bracket in state.brackets:
        for stage in bracket.plan.stages:
            lines.append(_stage(bracket, stage))
            lines += [_decision(bracket, stage, decision) for decision in stage.decisions]
    return [*lines, *map(_place, state.places), *(_warning(one, version) for one in state.warnings)]


def _head(record: Record) -> dict[str, Any]:
    head, facts = record.head, record.facts
    return {
        "kind": "head",
        "format": head.format,
        "competition": head.competition,
        "round": head.number,
        "title": head.title,
        "round_kind": head.kind,
        "schedule": facts.schedule,
        "guard": facts.guard,
        "sweep": facts.sweep,
        "samples": facts.samples,
        "rules_version": head.rules_version,
        "rules": dict(head.rules),
        "commitment": head.commitment,
        "field_salt": head.field_salt,
        "field_commitment": head.field_commitment,
    }


def _samples(record: Record) -> Iterator[dict[str, Any]]:
    for number, sample in enumerate(record.samples):
        yield {"kind": "sample", "sample": number, "hash": sample.hash, "worst_case": float(sample.worst_case)}


def _field(facts: RoundFacts) -> Iterator[tuple[str, int, int, RoundEntrant]]:
    """Yield track, order of entry, prior and player of every entrant, in the order of the bundle."""
    for track in TrackName:
        prior = {name: place for place, name in enumerate(facts.priors.get(track, ()), start=1)}
        entered = [entrant for entrant in facts.entrants if entrant.track is track]
        for order, entrant in enumerate(entered, start=1):
            yield str(track), order, prior[entrant.player], entrant


def _entrants(record: Record) -> Iterator[dict[str, Any]]:
    for track, order, prior, entrant in _field(record.facts):
        line = {
            "kind": "entrant",
            "track": track,
            "player": entrant.player,
            "teams": list(entrant.teams),
            "bundled": entrant.bundled,
            "order": order,
            "prior": prior,
            "submissions": [asdict(one) for one in record.submissions[entrant.player]],
        }
        if record.head.format != NARROW_FIELD:
            line["eligible_at_freeze"] = list(record.eligible_at_freeze[entrant.player])
        yield line


def _results(record: Record, asked: Mapping[tuple[str, str], int]) -> Iterator[dict[str, Any]]:
    for (model, attack), upto in sorted(asked.items()):
        if (model, attack) not in record.seeds:
            raise ValueError(f"the seed of {model} against {attack} is missing")
        pieces = [piece for piece in record.pieces.get((model, attack), ()) if piece.end <= upto]
        if not pieces or pieces[-1].end != upto:
            raise ValueError(f"the images of {model} against {attack} on {upto} samples are missing")
        rows = record.facts.results[model, attack]
        seed, played = record.seeds[model, attack], [rows[sample] for sample in range(upto)]
        line = {"kind": "results", "model": model, "attack": attack}
        if record.head.format > OF_LINES:
            # RFC 8785 has no larger numbers than doubles
            yield {**line, "seed": str(seed), **_columns(played, pieces)}
        else:
            yield {**line, "seed": int(seed), **_lists(played), "pieces": [asdict(piece) for piece in pieces]}


def _audits(facts: RoundFacts, asked: Mapping[tuple[str, str], int]) -> Iterator[dict[str, Any]]:
    for (model, attack), counts in sorted(facts.failed_audits.items()):
        if failed := sorted(count for count in counts if count <= asked.get((model, attack), 0)):
            yield {"kind": "audit", "model": model, "attack": attack, "failed_on": failed}


def _kept(facts: RoundFacts, models: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the kept models that failed an audit in the results that count."""
    for model, reason in sorted(facts.kept.items()):
        if model in models:
            yield {"kind": "kept", "model": model, "reason": reason}


def _columns(rows: Sequence[SampleRow], pieces: Sequence[BundlePiece]) -> dict[str, Any]:
    return {
        "outcomes": np.array([OUTCOMES.index(row.outcome) for row in rows], "<u1"),
        "distances": np.array([row.distance for row in rows], "<f8"),
        "queries": np.array([row.queries for row in rows], "<u4"),
        "piece_ends": np.array([piece.end for piece in pieces], "<u4"),
        "piece_digests": hashes(piece.digest for piece in pieces),
    }


def _lists(rows: Sequence[SampleRow]) -> dict[str, Any]:
    return {
        "outcomes": [str(row.outcome) for row in rows],
        "distances": [float(row.distance) for row in rows],
        "queries": [int(row.queries) for row in rows],
    }


def _stage(bracket: BracketPlan, stage: Stage) -> dict[str, Any]:
    return {
        "kind": "stage",
        "bracket": str(bracket.track),
        "stage": int(stage.number),
        "samples": int(stage.samples),
        "ordered_by": str(stage.ordered_by),
        "panel_models": list(stage.panel_models),
        "panel_attacks": list(stage.panel_attacks),
        "counted_models": list(stage.counted_models),
        "counted_attacks": list(stage.counted_attacks),
        "loop": int(stage.loop),
        "renewed": bool(stage.renewed),
    }


def _decision(bracket: BracketPlan, stage: Stage, decision: StageDecision) -> dict[str, Any]:
    return {
        "kind": "decision",
        "bracket": str(bracket.track),
        "stage": int(stage.number),
        "side": str(decision.side),
        "player": decision.name,
        "place": int(decision.place),
        "value": _number(decision.value),
        "cut_line": _number(decision.cut_line),
        "kept": bool(decision.kept),
        "spared": bool(decision.spared),
        "inconsistent": bool(decision.inconsistent),
    }


def _place(place: FinalPlace) -> dict[str, Any]:
    return {
        "kind": "place",
        "track": str(place.track),
        "player": place.player,
        "place": place.place,
        "stage": int(place.stage),
        "value": _number(place.value),
        "low": _number(place.low),
        "high": _number(place.high),
        "met": place.met,
        "opponents": place.opponents,
        "value_against_all": _number(place.value_against_all),
        "rank_low": place.rank_low,
        "rank_high": place.rank_high,
        "separated_from_next": place.separated_from_next,
        "prize_place": place.prize_place,
        "failures": place.failures,
        "worst_opponent": place.worst_opponent,
        "not_broken": place.not_broken,
        "inconsistent": place.inconsistent,
    }


def _warning(warned: Warned, version: int) -> dict[str, Any]:
    line = {
        "kind": "warning",
        "model": warned.model,
        "attack": warned.attack,
        "nearer": warned.nearer,
        "samples": warned.samples,
    }
    return line if version == NARROW_FIELD else {**line, "median": float(warned.median)}


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
