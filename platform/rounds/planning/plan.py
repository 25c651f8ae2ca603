"""The planning of a round: its window, its secret samples, and the commitment to them."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Max

from competitions.freeze_windows import plan_window
from competitions.models import MAX_OBJECTION_DAYS, Competition, SampleSet
from competitions.permissions import require, require_not_archived
from competitions.planned_rounds_in_file import PURPOSES
from competitions.sample_draw import draw_samples, keep_draw
from competitions.selectors import rules_in_force
from core import clock, event_log
from core.errors import Refusal, RefusedInState
from core.roles import Right
from rounds.formats import RoundFormat, round_formats
from rounds.models import Round
from rounds.planning import commitment_salts
from rounds.planning.entries import eligible_entries
from rounds.shared_bundle_values import MOST_SAMPLES

if TYPE_CHECKING:
    from accounts.models import User


def plan_round(
    *,
    competition: Competition,
    title: str,
    kind: str,
    schedule: str,
    guard: bool,
    source: SampleSet,
    samples: int,
    starts_at: datetime,
    ends_at: datetime,
    by: User | None,
    reason: str = "",
    objection_days: int | None = None,
) -> Round:
    """Plan a round on `samples` samples of `source`, in an order that follows from a secret salt of the site.

    A format may ignore `schedule` and `guard`. `objection_days` is how long teams may object to its result after the
    publication, None for as long as the competition says; it is public from now on. `by` is None where an operator
    imports the competition's file.

    Another order requires the cancellation of this round, which stays listed.

    Raise `Refusal` where `by` is not allowed, the window is invalid, or the samples have another purpose, are too few,
    or were played or drawn for a round that was not cancelled before it played, and where a round of the current field
    is too large to be verified afterwards.
    """
    if by is not None:
        require(by, competition, Right.RUN)
    round_format = round_formats.of(competition)
    kind, title = _kind(kind), _title(title)
    schedule, guard = round_format.schedule(schedule, guard=guard)
    days = _objection_days(competition, objection_days)
    salt = commitment_salts.new_salt()
    _check_samples(competition, round_format, kind, source, samples)
    # before the transaction, since it reads many images; leftovers in the store are harmless
    drawn = draw_samples(source=source, count=samples, salt=salt)
    with transaction.atomic():
        require_not_archived(Competition.objects.select_for_update(no_key=True).get(pk=competition.pk))
        source = SampleSet.objects.select_for_update(no_key=True).get(pk=source.pk)
        _check_samples(competition, round_format, kind, source, samples)
        number = (competition.rounds.aggregate(newest=Max("number"))["newest"] or 0) + 1
        sample_set = keep_draw(drawn, name=_free_name(competition, number))
        now = clock.database_now()
        planned = Round.objects.create(
            competition=competition,
            number=number,
            title=title,
            kind=kind,
            schedule=schedule,
            guard=guard,
            window=plan_window(competition=competition, starts_at=starts_at, ends_at=ends_at, reason=title, by=by),
            sample_set=sample_set,
            salt=salt,
            commitment=drawn.commitment,
            state_since=now,
            planned_at=now,
            bundle_format=round_format.bundle_format,
            objection_days=days,
        )
        # as if it were frozen now: better refused here than on the day
        round_format.check_field(planned, eligible_entries(planned, now), rules_in_force(competition))
        event_log.record(
            "plan", planned, by=by, reason=reason, kind=kind, schedule=schedule, guard=guard, samples=samples,
            source=source.pk, commitment=planned.commitment, objection_days=days,
        )  # fmt: skip
    return planned


def _title(title: str) -> str:
    title = title.strip()
    if not 1 <= len(title) <= 120:
        raise Refusal("a round needs a title of 1 to 120 characters", fix='enter one, e.g. "Round 1"')
    return title


def _kind(kind: str) -> Round.Kind:
    if kind not in Round.Kind.values:
        raise Refusal(f"{kind!r} is not a kind of round", fix=f"choose one of {', '.join(Round.Kind.values)}")
    return Round.Kind(kind)


def _objection_days(competition: Competition, days: int | None) -> int:
    days = competition.objection_days if days is None else days
    if not 0 <= days <= MAX_OBJECTION_DAYS:
        raise Refusal(
            f"{days} is not a number of days for objections",
            fix=f"enter 0 to {MAX_OBJECTION_DAYS}; 0 for none",
        )
    return days


def _free_name(competition: Competition, number: int) -> str:
    """Return "round-1", or "round-1-2" and so on if an imported set has that name."""
    taken = set(competition.sample_sets.values_list("name", flat=True))
    preferred = f"round-{number}"
    further = (f"{preferred}-{other}" for other in count(2))
    return preferred if preferred not in taken else next(name for name in further if name not in taken)


def _check_samples(
    competition: Competition, round_format: RoundFormat, kind: Round.Kind, source: SampleSet, samples: int
) -> None:
    purpose = PURPOSES[kind.value]
    if source.competition_id != competition.pk or source.drawn_from_id is not None:
        raise Refusal(f"{source} is not an imported set of {competition.title}", fix="choose one of its imported sets")
    if source.purpose != purpose:
        raise Refusal(
            f"a {kind.label} plays on samples for {purpose}, and {source} is for {source.purpose}",
            fix=f"choose a set whose purpose is {purpose}, or import one",
        )
    if not 1 <= samples <= source.count:
        raise Refusal(f"{source} has {source.count} samples, not {samples}", fix=f"choose 1 to {source.count}")
    if samples > MOST_SAMPLES:
        raise Refusal(f"a round plays on at most {MOST_SAMPLES:,} samples, not {samples:,}", fix="choose fewer samples")
    taken = Round.objects.filter(sample_set__drawn_from=source).exclude(state=Round.State.CANCELLED).first()
    if taken is not None:
        problem = f"{source} is already used by {taken.title}"
        raise RefusedInState(problem, state=taken.state, fix="import another set, or cancel that round")
    if round_format.ever_played(source):
        raise Refusal(f"{source} was played before, so it is no longer secret", fix="import another set")
