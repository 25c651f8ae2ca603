"""What stands in a result bundle, and how it is written: first what was found, then all that follows from it.

Nothing in it depends on a clock, on the order in which results arrived, or on who played them: the SHA-256 of the body
is the snapshot hash of a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from evaluation.bundle.lines import MOST_BYTES, MOST_LINE_BYTES, MOST_LINES, canonical, encode
from evaluation.domain.players import Track
from evaluation.tournament.places import Place
from evaluation.tournament.plan import Decision, Stage
from evaluation.tournament.rounds import Bracket, RoundFacts, RoundState, SampleRow, Warned, advance, demanded

FORMAT = 1
"""The version of this form."""

MOST_SAMPLES = 10_000
"""The most samples of a bundle."""

_SIGNATURE_BYTES = (67, 400)
"""What the signature takes for each line before it, and beside."""


@dataclass(frozen=True)
class BundleHead:
    """Which round it is, and under which rules. `rules` are plain values, `commitment` what `commitment_of` gave."""

    competition: str
    number: int
    title: str
    kind: str
    rules_version: int
    rules: Mapping[str, Any]
    commitment: str


@dataclass(frozen=True)
class BundleSample:
    """A sample by its salted hash, and its worst-case distance (L2 over pixels / 255)."""

    hash: str
    worst_case: float


@dataclass(frozen=True)
class BundleSubmission:
    """A submission that plays as one of the players, and whether it may win prizes; `why` where it may not."""

    team: str
    commit: str
    title: str
    licence: str
    eligible: bool
    why: str = ""


@dataclass(frozen=True)
class Record:
    """All that is written of a round before anything is derived.

    `samples` stand in the order of their numbers, from 0. `submissions` are keyed by player, in the order of entry: one
    for each of its teams. `seeds` (of the referee) are keyed by (model, attack).
    """

    head: BundleHead
    facts: RoundFacts
    samples: Sequence[BundleSample]
    submissions: Mapping[str, Sequence[BundleSubmission]]
    seeds: Mapping[tuple[str, str], int]


def commitment_of(hashes: Sequence[str]) -> str:
    """The commitment over a sample list: the SHA-256, in hexadecimal, of the canonical JSON list of its hashes."""
    return sha256(canonical(list(hashes))).hexdigest()


def body(record: Record) -> bytes:
    """Everything of a round that is over, but the signature. The same bytes for the same round, always.

    Results that the schedule never asked for are left out: nothing follows from them. Raises `ValueError` where the
    round is not over, the parts do not fit each other, or it would be larger than what is read.
    """
    state = advance(record.facts)
    if not state.over:
        raise ValueError("the round is not over: there is nothing to write yet")
    if len(record.samples) != record.facts.samples:
        raise ValueError(f"there are {len(record.samples)} samples where the round has {record.facts.samples}")
    if record.facts.samples > MOST_SAMPLES:
        raise ValueError(f"the round has {record.facts.samples:,} samples, and a bundle at most {MOST_SAMPLES:,}")
    found = [_head(record), *_samples(record), *_entrants(record), *_results(record, state)]
    content = encode([*found, *derived_lines(state)])
    _check_size(content)
    return content


def _check_size(content: bytes) -> None:
    """Whether the bundle could be read once it is signed."""
    lines, longest = content.count(b"\n"), max(map(len, content.split(b"\n"))) + 1
    per_line, beside = _SIGNATURE_BYTES
    size = len(content) + lines * per_line + beside
    for found, most, what in (
        (lines + 1, MOST_LINES, "lines"),
        (longest, MOST_LINE_BYTES, "bytes in a line"),
        (size, MOST_BYTES, "bytes"),
    ):
        if found > most:
            raise ValueError(f"the bundle would have {found:,} {what}, and one is read with at most {most:,}")


def derived_lines(state: RoundState) -> list[dict[str, Any]]:
    """The lines of what follows, in order: stages with their decisions, places, warnings."""
    lines = []
    for bracket in state.brackets:
        for stage in bracket.plan.stages:
            lines.append(_stage(bracket, stage))
            lines += [_decision(bracket, stage, decision) for decision in stage.decisions]
    return [*lines, *map(_place, state.places), *map(_warning, state.warnings)]


def _head(record: Record) -> dict[str, Any]:
    head, facts = record.head, record.facts
    return {
        "kind": "head",
        "format": FORMAT,
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
    }


def _samples(record: Record) -> Iterator[dict[str, Any]]:
    for number, sample in enumerate(record.samples):
        yield {"kind": "sample", "sample": number, "hash": sample.hash, "worst_case": float(sample.worst_case)}


def _entrants(record: Record) -> Iterator[dict[str, Any]]:
    for track in Track:
        prior = {name: place for place, name in enumerate(record.facts.priors.get(track, ()), start=1)}
        entered = [entrant for entrant in record.facts.entrants if entrant.track is track]
        for order, entrant in enumerate(entered, start=1):
            submissions = [asdict(one) for one in record.submissions.get(entrant.player, ())]
            yield {
                "kind": "entrant",
                "track": str(track),
                "player": entrant.player,
                "teams": list(entrant.teams),
                "order": order,
                "prior": prior[entrant.player],
                "submissions": submissions,
            }


def _results(record: Record, state: RoundState) -> Iterator[dict[str, Any]]:
    for (model, attack), upto in sorted(demanded(record.facts, state).items()):
        if (model, attack) not in record.seeds:
            raise ValueError(f"the seed of {model} against {attack} is missing")
        rows = record.facts.results[model, attack]
        yield _result(model, attack, record.seeds[model, attack], [rows[sample] for sample in range(upto)])


def _result(model: str, attack: str, seed: int, rows: Sequence[SampleRow]) -> dict[str, Any]:
    return {
        "kind": "results",
        "model": model,
        "attack": attack,
        "seed": int(seed),
        "outcomes": [str(row.outcome) for row in rows],
        "distances": [float(row.distance) for row in rows],
        "queries": [int(row.queries) for row in rows],
    }


def _stage(bracket: Bracket, stage: Stage) -> dict[str, Any]:
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


def _decision(bracket: Bracket, stage: Stage, decision: Decision) -> dict[str, Any]:
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
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "kind": "place",
        "track": str(place.track),
        "player": place.player,
        "place": place.place,
        "stage": int(place.stage),
        "value": _number(place.value),
        "low": _number(place.low),
        "high": _number(place.high),
        "failures": place.failures,
        "worst_opponent": place.worst_opponent,
        "not_broken": place.not_broken,
        "unseparated": place.unseparated,
    }


def _warning(warned: Warned) -> dict[str, Any]:
    return {
        "kind": "warning",
        "model": warned.model,
        "attack": warned.attack,
        "nearer": warned.nearer,
        "samples": warned.samples,
    }


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
