"""Adapter: a round's rows, as the engine's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from competitions.rules import query_rules
from competitions.samples import sample_hashes, worst_cases
from core.errors import Fault
from evaluation.bundle.contents import MOST_SAMPLES, BundleHead, BundleSample, BundleSubmission, Record, body
from evaluation.domain.players import Track
from evaluation.domain.results import Outcome
from evaluation.scoring.distances import scored_distance
from evaluation.tournament.rounds import (
    RoundEntrant,
    RoundFacts,
    RoundState,
    SampleRow,
    advance,
    ceiling,
    piece_ends,
)
from matches.models import SampleResult
from rounds.models import Round, RoundEntry

__all__ = [
    "MOST_SAMPLES",
    "RoundFacts",
    "RoundState",
    "ceiling",
    "ends_of",
    "facts_of",
    "field_of",
    "frozen",
    "outcome_of",
    "prizes_of",
    "state_of",
]

Results = Mapping[tuple[str, str], Mapping[int, SampleRow]]


def facts_of(round: Round) -> RoundFacts:
    """All that is known of a frozen round, in four queries."""
    return _facts(round, frozen(round), _results(round))


def field_of(round: Round, entries: Iterable[RoundEntry]) -> RoundFacts:
    """The round as it would begin with `entries`, with nothing played."""
    return _facts(round, entries, {})


def state_of(facts: RoundFacts) -> RoundState:
    """Where the round stands and what must be played next, or its outcome; raises `Fault` for facts that cannot be."""
    try:
        return advance(facts)
    except ValueError as error:
        raise Fault(f"the rows of the round contradict each other: {error}") from error


def ends_of(facts: RoundFacts) -> tuple[int, ...]:
    """The sample counts at which a stage may end, so that no piece reaches beyond one."""
    return piece_ends(facts.schedule, facts.samples, facts.guard)


def outcome_of(round: Round, facts: RoundFacts, entries: Iterable[RoundEntry]) -> bytes:
    """All facts of a round that is over and everything that follows from them: equal rounds give equal bytes.

    It takes seconds for a large round. Raises `Fault` where the round was never frozen.
    """
    if round.rules is None:
        raise Fault(f"{round} has no rules: it was never frozen")
    head = BundleHead(
        competition=round.competition.slug,
        number=round.number,
        title=round.title,
        kind=round.kind,
        rules_version=round.rules.version,
        rules=query_rules(round.rules.values, round.rules.version).as_dict(),
        commitment=round.commitment,
    )
    hashes, worst = sample_hashes(round.sample_set, round.salt), worst_cases(round.sample_set)
    submissions: dict[str, list[BundleSubmission]] = {}
    for entry in entries:
        submissions.setdefault(entry.player.digest, []).append(_submission(entry))
    seeds = round.round_matches.values_list("match__model__digest", "match__attack__digest", "match__seed")
    record = Record(
        head=head,
        facts=facts,
        samples=[BundleSample(*sample) for sample in zip(hashes, worst, strict=True)],
        submissions=submissions,
        seeds={(model, attack): seed for model, attack, seed in seeds},
    )
    try:
        return body(record)
    except ValueError as error:
        raise Fault(f"the outcome of {round} cannot be written: {error}") from error


def _submission(entry: RoundEntry) -> BundleSubmission:
    submission = entry.submission
    return BundleSubmission(
        team=submission.repository.entry.team.slug,
        commit=submission.commit,
        title=submission.title,
        licence=submission.licence,
        eligible=entry.eligible,
        why=entry.ineligible_because,
    )


def frozen(round: Round) -> list[RoundEntry]:
    """The entries of a round in their order, with players and teams."""
    rows = round.entries.select_related("track", "player", "submission__repository__entry__team")
    return list(rows.order_by("track", "order"))


def prizes_of(entries: Iterable[RoundEntry]) -> list[tuple[int, bool, str]]:
    """What may change of the entries of a frozen round until it is published, to be compared."""
    return [(entry.pk, entry.eligible, entry.ineligible_because) for entry in entries]


def _facts(round: Round, entries: Iterable[RoundEntry], results: Results) -> RoundFacts:
    teams: dict[tuple[Track, str], dict[str, None]] = {}
    prior: dict[tuple[Track, str], int] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        key = Track(entry.track.kind), entry.player.digest
        teams.setdefault(key, {})[entry.submission.repository.entry.team.slug] = None
        prior[key] = min(entry.prior, prior.get(key, entry.prior))
    return RoundFacts(
        schedule=round.schedule,
        guard=round.guard,
        samples=round.sample_set.count,
        sweep=round.kind == Round.Kind.FINAL,
        entrants=tuple(
            RoundEntrant(track, player, tuple(of))
            for wanted in Track
            for (track, player), of in teams.items()
            if track is wanted
        ),
        priors={
            wanted: tuple(player for track, player in sorted(prior, key=prior.__getitem__) if track is wanted)
            for wanted in Track
        },
        results=results,
    )


def _results(round: Round) -> Results:
    """Every sample that was played for the round, in an order of its own: who played when changes nothing."""
    pairs = round.round_matches.order_by("match__model__digest", "match__attack__digest")
    names = {row[0]: row[1:] for row in pairs.values_list("match", "match__model__digest", "match__attack__digest")}
    results: dict[tuple[str, str], dict[int, SampleRow]] = {pair: {} for pair in names.values()}
    rows = SampleResult.objects.filter(match__round_match__round=round).order_by("match", "sample")
    columns = rows.values_list("match", "sample", "outcome", "distance", "worst_case", "queries")
    outcomes = {str(outcome): outcome for outcome in Outcome}
    for match, sample, text, distance, worst_case, queries in columns.iterator(chunk_size=5000):
        if match not in names:  # asked for by another conductor, and played, since the names were read
            continue
        outcome = outcomes[text]
        scored = scored_distance(outcome, distance, worst_case)
        results[names[match]][sample] = SampleRow(outcome, scored, queries)
    return results
