"""The entries of a round: those that it would have now, in two orders, and those of its freeze. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Q

from competitions.models import Competition, Track
from core.errors import Fault
from rounds.formats import Counting, format_of
from rounds.models import Round, RoundEntry
from rounds.planning.open_source_licences import is_open_source

if TYPE_CHECKING:
    from submissions.models import Player, Submission


def eligible_entries(round_: Round, at: datetime) -> list[RoundEntry]:
    """Return the unsaved entries of all tracks that the round has if readiness is judged at `at`.

    A submission withdrawn, disqualified or found void since then does not count: the next newest one does. Scores and
    choices of teams are those known at `at`, so the result does not depend on when the round is frozen.
    """
    counting = format_of(round_).counting(round_.competition, at)
    by_track: dict[Track, list[Submission]] = {}
    for submission in _counted(round_, counting, at):
        by_track.setdefault(submission.repository.track, []).append(submission)
    entries = []
    for track, submissions in by_track.items():
        by_prior = sorted(submissions, key=_prior_key(counting.places.get(track.pk, {})))
        prior = {row.pk: place for place, row in enumerate(by_prior, 1)}
        entries += [
            _entry(round_, submission, order, prior[submission.pk]) for order, submission in enumerate(submissions, 1)
        ]
    return entries


def _counted(round_: Round, counting: Counting, at: datetime) -> list[Submission]:
    """Return the chosen or else the newest submission of each repository, and baselines, in their order.

    Where a final requires open source, others do not count. Equal content of one team enters once, as what counts for
    it if possible: a player of a bundle has one submission of each team.
    """
    final = round_.kind == Round.Kind.FINAL
    open_source = final and round_.competition.licence_policy == Competition.LicencePolicy.REQUIRED
    in_time = Q(repository__track__competition=round_.competition_id, state_since__lte=at)
    related = ("repository__entry__team", "repository__track", "player")
    rows = counting.submissions.filter(in_time).select_related(*related).order_by("pk")
    counted: dict[int, Submission] = {}
    for submission in rows:
        if open_source and not is_open_source(submission.licence):
            continue
        before = counted.get(submission.repository_id)
        if before is None or before.pk not in counting.chosen:
            counted[submission.repository_id] = submission
    baselines = counting.baselines.filter(in_time).select_related(*related).order_by("-pk")
    found = {(each.repository_id, each.player_id): each for each in (*baselines, *counted.values())}
    return sorted(found.values(), key=lambda submission: submission.pk)


def _prior_key(places: Mapping[int, int]) -> Callable[[Submission], tuple[bool, int, bool, int]]:
    """Return the sort key of the initial seeding: by the board, then those not on it, baselines first."""

    def key(submission: Submission) -> tuple[bool, int, bool, int]:
        # a place on the board is that of the submission that counts
        place = None if submission.baseline_at else places.get(submission.repository.entry_id)
        return place is None, place or 0, not _player(submission).baseline, submission.pk

    return key


def _entry(round_: Round, submission: Submission, order: int, prior: int) -> RoundEntry:
    because = _ineligible_because(round_, submission)
    return RoundEntry(
        round=round_,
        track=submission.repository.track,
        submission=submission,
        player=_player(submission),
        order=order,
        prior=prior,
        eligible=not because,
        eligible_at_freeze=not because,
        bundled=bool(_player(submission).baseline),
        ineligible_because=because,
        title_hidden=submission.hidden_at is not None,
    )


def _player(submission: Submission) -> Player:
    if submission.player is None:
        raise Fault(f"{submission} is ready and has no player")
    return submission.player


def without_prizes(submission: Submission) -> str:
    """Return why a submission wins no prize whatever its licence, "" if it may win one."""
    if submission.baseline_at is not None:
        return "the organisers made it a baseline"
    return "the team takes part without prizes" if submission.repository.entry.ineligible_for_prizes else ""


def _ineligible_because(round_: Round, submission: Submission) -> str:
    if because := without_prizes(submission):
        return because
    open_source_required = round_.competition.licence_policy == Competition.LicencePolicy.OPEN_SOURCE
    if open_source_required and round_.kind == Round.Kind.FINAL and not is_open_source(submission.licence):
        return f"its licence is not known to be open source: {submission.licence[:120] or 'none was found'}"
    return ""


def frozen(round_: Round) -> list[RoundEntry]:
    """Return the entries of a round in order, with players and teams."""
    rows = round_.entries.select_related("track", "player", "submission__repository__entry__team")
    return list(rows.order_by("track", "order"))


def prizes_of(entries: Iterable[RoundEntry]) -> list[tuple[int, bool, str, str]]:
    """Return what may change of the entries between freeze and publication, for comparison."""
    return [(entry.pk, entry.eligible, entry.ineligible_because, entry.audit_override_reason) for entry in entries]
