"""Adapter: the rows of a round of the query format as values of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import IO

from competitions.models import RulesVersion
from competitions.origin import signed_slug, signed_team_slug
from competitions.pseudonyms import public_name
from competitions.sample_store import sample_hashes, worst_cases
from core.errors import Fault
from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.domain.players import TrackName
from evaluation.formats.query.bundle.pseudonymisation import rename_facts, rename_pairs, rename_players
from evaluation.formats.query.bundle.size_check import check_size
from evaluation.formats.query.bundle.writer import FORMAT as BUNDLE_FORMAT
from evaluation.formats.query.bundle.writer import (
    NARROW_FIELD,
    BundleHead,
    BundlePiece,
    BundleSample,
    Record,
    field_commitment_of,
    write_body,
)
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.scoring.scored_distances import scored_distance
from evaluation.formats.query.tournament.failed_audit_rule import NobodyLeftError
from evaluation.formats.query.tournament.round_state import (
    RoundEntrant,
    RoundFacts,
    RoundPart,
    RoundState,
    SampleRow,
    advance,
    ceiling,
    demanded,
    piece_ends,
    round_parts,
)
from evaluation.formats.query.tournament.schedule_names import schedule_named
from evaluation.formats.query.tournament.schedule_output import StageCeiling
from formats.query.matches.models import Piece, SampleResult
from formats.query.rounds.round_audits import PieceAudit, failed_on
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen
from rounds.shared_bundle_values import bundle_submission, written_outcome

__all__ = [
    "BUNDLE_FORMAT",
    "NobodyLeftError",
    "RoundFacts",
    "RoundState",
    "StageCeiling",
    "ceiling",
    "check_field",
    "commitment_to_field",
    "demanded",
    "ends_of",
    "facts_of",
    "field_of",
    "outcome_of",
    "parts_of",
    "planned_ends",
    "state_of",
]

Results = Mapping[tuple[str, str], Mapping[int, SampleRow]]


def facts_of(round_: Round) -> RoundFacts:
    """Return all facts of a frozen round, in five queries."""
    facts = _facts(round_, frozen(round_), _results(round_))
    return replace(facts, failed_audits=_failed_audits(round_, ends_of(facts)))


def field_of(round_: Round, entries: Iterable[RoundEntry]) -> RoundFacts:
    """Return the facts of the round if it started with `entries`, with nothing played."""
    return _facts(round_, entries, {})


def state_of(facts: RoundFacts) -> RoundState:
    """Return the state of the round: what must be played next, or its outcome.

    Raise `NobodyLeftError` if all models left, and `Fault` for impossible facts.
    """
    try:
        return advance(facts)
    except NobodyLeftError:
        raise
    except ValueError as error:
        raise Fault(f"the rows of the round contradict each other: {error}") from error


def check_field(round_: Round, entries: Iterable[RoundEntry], rules: RulesVersion) -> None:
    """Raise `Refusal` where the outcome of the round with `entries` might be too large to be written and verified."""
    values = rules.rules_as(QueryRules)
    facts = field_of(round_, entries)
    check_size(facts, query_budget=values.query_budget, piece_samples=values.piece_samples)


def parts_of(round_: Round, players: Mapping[str, int]) -> tuple[RoundPart, ...]:
    """Return what the parts of a planned round play at most, with so many players of each track, by its name."""
    schedule = schedule_named(round_.schedule, guard=round_.guard)
    by_track = {track: players[track] for track in TrackName}
    return round_parts(schedule, round_.sample_set.count, by_track, sweep=True)


def planned_ends(round_: Round) -> tuple[int, ...]:
    """Return the sample counts at which pieces of a planned round end, beside those that the rules set."""
    return piece_ends(round_.schedule, round_.sample_set.count, round_.guard)


def ends_of(facts: RoundFacts) -> tuple[int, ...]:
    """Return the sample counts at which a stage may end; no piece extends beyond one."""
    return piece_ends(facts.schedule, facts.samples, facts.guard)


def outcome_of(round_: Round, facts: RoundFacts, entries: Iterable[RoundEntry]) -> IO[bytes]:
    """Return an open file with all facts of a finished round and all that follows: equal rounds give equal bytes.

    Players appear under their pseudonyms. A large round takes seconds. Raise `Fault` if the round was never frozen, or
    its entries differ from the commitment of the freeze.
    """
    if round_.rules is None:
        raise Fault(f"{round_} has no rules: it was never frozen")
    name = partial(public_name, round_.competition)
    facts, submissions = rename_facts(facts, name), rename_players(_submissions(entries), name)
    eligible = rename_players(_eligible_at_freeze(entries), name)
    head = _head(round_, round_.rules)
    if field_commitment_of(head, facts, submissions, eligible) != round_.field_commitment:
        raise Fault(f"the entries or the rules of {round_} differ from the commitment made at its freeze")
    hashes, worst = sample_hashes(round_.sample_set, round_.salt), worst_cases(round_.sample_set)
    seeds = round_.round_matches.values_list("match__model__digest", "match__attack__digest", "match__seed")
    record = Record(
        head=head,
        facts=facts,
        samples=[BundleSample(*sample) for sample in zip(hashes, worst, strict=True)],
        submissions=submissions,
        seeds=rename_pairs({(model, attack): seed for model, attack, seed in seeds}, name),
        pieces=rename_pairs(_pieces(round_), name),
        eligible_at_freeze=eligible,
    )
    return written_outcome(round_, partial(write_body, record))


def commitment_to_field(round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
    """Return the salted hash of the entries, their order and the rules, when a round starts with `entries`."""
    if round_.rules is None:
        raise Fault(f"{round_} has no rules: they are part of its field")
    name = partial(public_name, round_.competition)
    return field_commitment_of(
        replace(_head(round_, round_.rules), field_salt=salt),
        rename_facts(field_of(round_, entries), name),
        rename_players(_submissions(entries), name),
        rename_players(_eligible_at_freeze(entries), name),
    )


def _head(round_: Round, rules: RulesVersion) -> BundleHead:
    return BundleHead(
        competition=signed_slug(round_.competition),
        number=round_.number,
        title=round_.title,
        kind=round_.kind,
        rules_version=rules.version,
        rules=rules.rules_as(QueryRules).as_dict(),
        commitment=round_.commitment,
        field_salt=round_.field_salt,
        field_commitment=round_.field_commitment,
        format=round_.bundle_format,
    )


def _eligible_at_freeze(entries: Iterable[RoundEntry]) -> dict[str, list[bool]]:
    """Return the eligibility of the submissions of each player, in the order of `_submissions`."""
    eligible: dict[str, list[bool]] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        eligible.setdefault(entry.player.digest, []).append(entry.eligible_at_freeze)
    return eligible


def _submissions(entries: Iterable[RoundEntry]) -> dict[str, list[BundleSubmission]]:
    submissions: dict[str, list[BundleSubmission]] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        submissions.setdefault(entry.player.digest, []).append(bundle_submission(entry))
    return submissions


def _facts(round_: Round, entries: Iterable[RoundEntry], results: Results) -> RoundFacts:
    teams: dict[tuple[TrackName, str], dict[str, None]] = {}
    prior: dict[tuple[TrackName, str], int] = {}
    kept: dict[str, str] = {}
    frozen_baselines = round_.bundle_format != NARROW_FIELD
    bundled = {
        entry.player.digest for entry in entries if (entry.bundled if frozen_baselines else entry.player.baseline)
    }
    for entry in sorted(entries, key=lambda entry: entry.order):
        key = TrackName(entry.track.name), entry.player.digest
        teams.setdefault(key, {})[signed_team_slug(entry.submission.repository.entry)] = None
        prior[key] = min(entry.prior, prior.get(key, entry.prior))
        if entry.audit_override_reason:
            kept[entry.player.digest] = entry.audit_override_reason
    return RoundFacts(
        schedule=round_.schedule,
        guard=round_.guard,
        samples=round_.sample_set.count,
        sweep=round_.bundle_format != NARROW_FIELD or round_.kind == Round.Kind.FINAL,
        entrants=tuple(
            RoundEntrant(track, player, tuple(of), player in bundled)
            for side in TrackName
            for (track, player), of in teams.items()
            if track is side
        ),
        priors={
            side: tuple(player for track, player in sorted(prior, key=prior.__getitem__) if track is side)
            for side in TrackName
        },
        results=results,
        kept=kept,
    )


def _failed_audits(round_: Round, ends: Sequence[int]) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return, per pair, the sample counts (ends of stages) on whose first samples its audit failed."""
    played = Piece.objects.filter(match__round_match__round=round_, state=Piece.State.PLAYED).order_by("match", "first")
    columns = ("match__model__digest", "match__attack__digest", "first", "count", "audit")
    pairs: dict[tuple[str, str], list[PieceAudit]] = {}
    for model, attack, first, count, audit in played.values_list(*columns):
        pairs.setdefault((model, attack), []).append(PieceAudit(first, first + count, audit))
    found = {pair: failed_on(pieces, ends) for pair, pieces in pairs.items()}
    return {pair: counts for pair, counts in found.items() if counts}


def _pieces(round_: Round) -> dict[tuple[str, str], list[BundlePiece]]:
    """Return the stored images and traces of each pair, in the order of their samples."""
    played = Piece.objects.filter(match__round_match__round=round_, state=Piece.State.PLAYED).order_by("match", "first")
    columns = ("match__model__digest", "match__attack__digest", "first", "count", "artefact")
    pieces: dict[tuple[str, str], list[BundlePiece]] = {}
    for model, attack, first, count, artefact in played.values_list(*columns):
        pieces.setdefault((model, attack), []).append(BundlePiece(first + count, artefact))
    return pieces


def _results(round_: Round) -> Results:
    """Return every sample that was played for the round, in a fixed order: the order of playing changes nothing."""
    pairs = round_.round_matches.order_by("match__model__digest", "match__attack__digest")
    names = {row[0]: row[1:] for row in pairs.values_list("match", "match__model__digest", "match__attack__digest")}
    results: dict[tuple[str, str], dict[int, SampleRow]] = {pair: {} for pair in names.values()}
    rows = SampleResult.objects.filter(match__round_match__round=round_).order_by("match", "sample")
    columns = rows.values_list("match", "sample", "outcome", "distance", "worst_case", "queries")
    outcomes = {str(outcome): outcome for outcome in Outcome}
    for match, sample, text, distance, worst_case, queries in columns.iterator(chunk_size=5000):
        if match not in names:  # requested and played by another process since the names were read
            continue
        outcome = outcomes[text]
        scored = scored_distance(outcome, distance, worst_case)
        results[names[match]][sample] = SampleRow(outcome, scored, queries)
    return results
