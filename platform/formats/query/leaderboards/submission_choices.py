"""Which submissions teams chose to count, now and at past times. Reads only; `choose_submission` writes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count, Max, Q, QuerySet

from competitions.models import Track
from competitions.rules import teams_may_choose
from formats.query.leaderboards.models import Evaluation, SubmissionChoice
from formats.query.leaderboards.ranking import Choice, Chosen, Tried, chosen_by
from repositories.models import Repository


def choice_changes(track: Track, until: datetime | None = None) -> list[Choice]:
    """Return the choices of the teams on a track up to `until`, oldest first; one query if there are none.

    They count while the rules in force let teams choose: a version without it ends them, and a later one that allows it
    brings them back.
    """
    return choice_changes_of([track], until)[track.pk]


def choice_changes_of(tracks: Iterable[Track], until: datetime | None = None) -> dict[int, list[Choice]]:
    """Return the `choice_changes` of each track, by the key of the track, in one query if there are none."""
    tracks = list(tracks)
    made = SubmissionChoice.objects.filter(repository__track__in=[track.pk for track in tracks]).order_by("pk")
    if until is not None:
        made = made.filter(made_at__lte=until)
    choices: dict[int, list[Choice]] = {track.pk: [] for track in tracks}
    columns = ("repository__track", "made_at", "repository__entry", "submission")
    for key, at, entry, submission in made.values_list(*columns):
        choices[key].append(Choice(at, entry, submission))
    return {
        track.pk: _while_allowed(choices[track.pk], _allowed(track, until)) if choices[track.pk] else []
        for track in tracks
    }


def _allowed(track: Track, until: datetime | None) -> list[tuple[datetime, bool]]:
    """Return whether each version of the rules up to `until` lets teams choose, oldest first."""
    versions = track.competition.rules_versions.order_by("version")
    if until is not None:
        versions = versions.filter(created_at__lte=until)
    return [(at, teams_may_choose(values)) for at, values in versions.values_list("created_at", "values")]


def _while_allowed(choices: Iterable[Choice], allowed: Iterable[tuple[datetime, bool]]) -> list[Choice]:
    """Return `choices` without effect while a team may not choose, oldest first."""
    chosen: dict[int, int | None] = {}
    found: list[Choice] = []
    may_choose = False
    # stable: a version of the rules comes before a choice of the same time
    events: list[tuple[datetime, bool | Choice]] = [*allowed, *((each.at, each) for each in choices)]
    for at, event in sorted(events, key=lambda each: each[0]):
        if isinstance(event, Choice):
            chosen[event.entry] = event.submission
            if may_choose:
                found.append(event)
        elif event != may_choose:
            may_choose = event
            found += [Choice(at, entry, submission if event else None) for entry, submission in chosen.items()]
    return found


def submissions_tried(track: Track, seen: Q, until: datetime | None = None) -> Tried | None:
    """Return how many submissions each team could choose from by their scores; None where the newest one counts.

    They are counted by sample set, whatever the pool: a new pool measures only the chosen one again, and its score has
    the luck of the same samples. Withdrawn ones were tried, too. `seen` selects the evaluations, `until` the rules.
    """
    versions = track.competition.rules_versions.order_by("-version")
    if until is not None:
        versions = versions.filter(created_at__lte=until)
    rules = versions.values_list("values", flat=True).first()
    if rules is None or not teams_may_choose(rules):
        return None
    scored = Evaluation.objects.filter(seen, submission__repository__track=track, state=Evaluation.State.SCORED)
    by_set = scored.order_by().values_list("submission__repository__entry", "sample_set")
    counts = by_set.annotate(tried=Count("submission", distinct=True))
    return {(entry, sample_set): tried for entry, sample_set, tried in counts}


def chosen_by_track(tracks: Iterable[Track], at: datetime | None = None) -> dict[int, Chosen]:
    """Return the submissions that teams had chosen at `at`, or have chosen now, by the key of the track.

    In one query if there are no choices.
    """
    return {track: chosen_by(changes) for track, changes in choice_changes_of(tracks, at).items()}


def chosen_keys(chosen: Iterable[Chosen]) -> set[int]:
    """Return the keys of the chosen submissions."""
    return {submission for each in chosen for submission in each.values() if submission is not None}


def choice_of(repository: Repository) -> SubmissionChoice | None:
    """Return the newest choice for a repository; None if there is none, or it returned to the newest submission."""
    related = ("submission", "made_by")
    choice = SubmissionChoice.objects.filter(repository=repository).select_related(*related).order_by("-pk").first()
    return choice if choice is not None and choice.submission is not None else None


def newest_choices() -> QuerySet[SubmissionChoice]:
    """Return the newest choice for each repository."""
    newest = SubmissionChoice.objects.order_by().values("repository").annotate(newest=Max("pk")).values("newest")
    return SubmissionChoice.objects.filter(pk__in=newest)
