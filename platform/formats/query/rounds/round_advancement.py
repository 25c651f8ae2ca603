"""The progression of a running round: from results to the next matches, or to the outcome.

One step is one transaction and depends only on rows, never on a clock or the order of arrival. So the outcome is the
same whichever process takes a step, however often, and wherever one is killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from core import object_store
from core.errors import Fault
from evaluation.domain.players import Side
from evaluation.formats.query.results import Outcome
from formats.query.matches.match_requests import request_matches
from formats.query.matches.models import Match
from formats.query.matches.piece_queue import OPEN_MATCH
from formats.query.matches.selectors import stuck_pieces, worker_is_missing
from formats.query.rounds.models import Decision, RoundMatch, RoundStage, RoundWarning
from formats.query.rounds.round_as_engine_values import (
    NobodyLeftError,
    RoundFacts,
    RoundState,
    demanded,
    ends_of,
    facts_of,
    outcome_of,
    state_of,
)
from formats.query.rounds.round_audits import open_audits
from formats.query.tracks import MODEL
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen, prizes_of
from rounds.running.transitions import STUCK, locked, move, record_problem
from submissions.models import Player
from workers.models import Priority

Players = Mapping[tuple[str, str], Player]
"""The players of a round by track_name and digest."""

OPEN_STATES = (Match.State.WAITING, Match.State.PLAYING, Match.State.AUDIT, Match.State.SUSPENDED)
"""States of a match that is still to be played."""
NOBODY_LEFT = (
    "Every remaining model failed its audits, so attacks have no opponents left. "
    "Override the audits of models that you trust, or cancel the round."
)
_NAMED = 5
"""Number of failed matches that a problem lists."""


def advance_round(round_: Round) -> None:
    """Take the next step of a running round if nothing that it requested is left to play. Safe to repeat.

    A failed match stops the round, with a problem that names it, until an organiser replays it; so do matches with an
    open audit, and a stage that all models would leave. Raise `Fault` if a stored stage differs from what follows from
    the rows.
    """
    if not _is_due(round_):
        return
    # before the lock, from rows that no longer change; if another process takes the step first, this one adds nothing
    committed = frozen(round_)  # first: an override that the facts miss is missing here, too
    facts = facts_of(round_)
    try:
        state = state_of(facts)
    except NobodyLeftError:
        record_problem(round_, NOBODY_LEFT)
        return
    outcome = object_store.put_open(outcome_of(round_, facts, committed)) if state.over else ""
    with transaction.atomic():
        current = locked(round_)
        entries = frozen(current)
        # a licence review or an override meanwhile changes what follows: the next step writes it
        if current.state != Round.State.PLAYING or prizes_of(entries) != prizes_of(committed):
            return
        players = {(entry.track.name, entry.player.digest): entry.player for entry in entries}
        _store_stages(current, state, players)
        if state.over:
            _note_what_counts(current, facts, state)
            _score(current, outcome, state, entries, players)
        else:
            _request_matches(current, facts, state, players)
            Round.objects.filter(pk=current.pk).exclude(problem="").update(problem="")


def _is_due(round_: Round) -> bool:
    if not Round.objects.filter(pk=round_.pk, state=Round.State.PLAYING).exists():
        return False
    matches = Match.objects.filter(round_match__round=round_)
    failed = list(matches.filter(state=Match.State.FAILED).select_related("model", "attack").order_by("pk"))
    if failed:
        record_problem(
            round_,
            f"A platform error occurred in {_listed(failed)}. The first: {failed[0].fault}. "
            "Fix the host, then replay them in the list of matches.",
        )
        return False
    if matches.filter(state__in=OPEN_STATES).exists():
        record_problem(round_, _missing(matches))
        return False
    if unfinished := open_audits(matches.select_related("model", "attack").order_by("pk")):
        record_problem(
            round_,
            f"The model's audit is open in {_listed(unfinished)}. The round continues when these are finished.",
        )
        return False
    return True


def _missing(matches: QuerySet[Match]) -> str:
    """Return which kind of worker or host the open matches lack, "" if none."""
    if stuck := stuck_pieces().filter(match__in=matches).order_by("match", "number").first():
        return STUCK.format(stuck, "pieces")
    # check one match, preferably one that needs a GPU
    neediest = matches.filter(state__in=OPEN_MATCH).order_by("-needs_gpu")[:1]
    if not worker_is_missing(neediest):
        return ""
    missing = "worker with a GPU" if neediest[0].needs_gpu else "worker that plays"
    return f"No {missing} was seen recently, and matches wait for one. Start one; the round then continues by itself."


def _listed(matches: Sequence[Match]) -> str:
    named = "; ".join(f"{match}, {match.attack.title} against {match.model.title}" for match in matches[:_NAMED])
    more = f"; and {len(matches) - _NAMED} more" if len(matches) > _NAMED else ""
    return f"{len(matches)} of its matches: {named}{more}"


def _request_matches(round_: Round, facts: RoundFacts, state: RoundState, players: Players) -> None:
    """Request all matches that the step needs, in a number of queries that does not grow with the pairs."""
    if round_.rules is None:
        raise Fault(f"{round_} has no rules")
    models = {digest: player for (track_name, digest), player in players.items() if track_name == MODEL}
    attacks = {digest: player for (track_name, digest), player in players.items() if track_name != MODEL}
    by_samples: dict[int, list[tuple[Player, Player]]] = {}
    for request in state.requests:
        by_samples.setdefault(request.upto, []).append((models[request.model], attacks[request.attack]))
    ends = ends_of(facts)
    for upto, pairs in sorted(by_samples.items()):
        matches = request_matches(
            rules=round_.rules,
            sample_set=round_.sample_set,
            pairs=pairs,
            upto=upto,
            ends=ends,
            priority=Priority.ROUND,
        )
        RoundMatch.objects.bulk_create(
            (RoundMatch(round=round_, match=match) for match in matches), ignore_conflicts=True
        )


def _store_stages(round_: Round, state: RoundState, players: Players) -> None:
    """Store new finished stages; raise `Fault` if a stored one differs from `state`."""
    tracks = {track.name: track for track in round_.competition.tracks.all()}
    stored = {(row.bracket, row.number): row for row in round_.stages.prefetch_related("decisions")}
    stages, decisions = [], []
    for bracket in state.brackets:
        for stage in bracket.plan.stages:
            row = RoundStage(
                round=round_,
                bracket=str(bracket.track),
                number=stage.number,
                samples=stage.samples,
                ordered_by=str(stage.ordered_by),
                panel={"models": list(stage.panel_models), "attacks": list(stage.panel_attacks)},
                counted={"models": list(stage.counted_models), "attacks": list(stage.counted_attacks)},
                loop=stage.loop,
                renewed=stage.renewed,
            )
            track_name = {Side.MODEL: MODEL, Side.ATTACK: row.bracket}
            lines = [
                Decision(
                    stage=row,
                    track=tracks[track_name[line.side]],
                    player=players[track_name[line.side], line.name],
                    place=line.place,
                    value=line.value,
                    cut_line=line.cut_line,
                    kept=line.kept,
                    spared=line.spared,
                    inconsistent=line.inconsistent,
                )
                for line in stage.decisions
            ]
            before = stored.get((row.bracket, row.number))
            if before is None:
                stages.append(row)
                decisions += lines
            elif _values(before, before.decisions.all()) != _values(row, lines):
                raise Fault(f"{before} differs from what follows from the played matches")
    RoundStage.objects.bulk_create(stages)
    Decision.objects.bulk_create(decisions)


def _values(stage: RoundStage, decisions: Sequence[Decision] | Any) -> tuple[Any, ...]:
    columns = (stage.samples, stage.ordered_by, stage.panel, stage.counted, stage.loop, stage.renewed)
    lines = {
        (
            line.player_id,
            line.track_id,
            line.place,
            line.value,
            line.cut_line,
            line.kept,
            line.spared,
            line.inconsistent,
        )
        for line in decisions
    }
    return (*columns, lines)


RESULT = (
    *("place", "stage", "value", "low", "high", "met", "opponents", "value_against_all", "rank_low", "rank_high"),
    *("separated_from_next", "prize_place", "failures", "worst_opponent", "not_broken", "inconsistent"),
)
"""The columns of an entry that the result fills."""


def _note_what_counts(round_: Round, facts: RoundFacts, state: RoundState) -> None:
    """Store for each match how many samples the outcome uses, with their median distance and how many held.

    They are none if an audit override made the match unnecessary.
    """
    required = demanded(facts, state)
    rows = []
    for match in Match.objects.filter(round_match__round=round_).select_related("model", "attack"):
        pair = match.model.digest, match.attack.digest
        samples = required.get(pair, 0)
        counted = [facts.results[pair][sample] for sample in range(samples)]
        middle = median(sample.distance for sample in counted) if counted else None
        held = sum(sample.outcome == Outcome.FAILED for sample in counted)
        rows.append(RoundMatch(round=round_, match=match, samples=samples, median=middle, held=held))
    # every match has its row: this updates all in one statement, in a tenth of the time of `bulk_update`
    RoundMatch.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["match"], update_fields=["samples", "median", "held"]
    )


def _score(round_: Round, outcome: str, state: RoundState, entries: Sequence[RoundEntry], players: Players) -> None:
    """Write the places, the warnings and the digest of the outcome; entries with the same player share its place."""
    places = {(str(place.track), place.player): place for place in state.places}
    by_digest = {digest: player for (_, digest), player in players.items()}
    for entry in entries:
        place = places[entry.track.name, entry.player.digest]
        for column in RESULT:
            setattr(entry, column, getattr(place, column) if column != "worst_opponent" else None)
        entry.worst_opponent = by_digest[place.worst_opponent] if place.worst_opponent else None
    RoundEntry.objects.bulk_update(entries, RESULT)
    RoundWarning.objects.bulk_create(
        RoundWarning(
            round=round_,
            model=by_digest[warned.model],
            attack=by_digest[warned.attack],
            nearer=warned.nearer,
            samples=warned.samples,
            median=warned.median,
        )
        for warned in state.warnings
    )
    round_.outcome = outcome
    move(round_, "score", by=None, reason="", outcome=round_.outcome)
