"""The end of a competition: one without records is deleted; any other is archived, and may be taken back.

Records are what somebody else did in it: submissions, pushes and rounds. Nobody can delete those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import transaction

from accounts.models import Team
from competitions.extension_points import Records, check_before_archiving, deleted_with, records_of
from competitions.models import Competition, Entry, TermsAcceptance
from competitions.origin import require_played_here
from competitions.permissions import require
from core import clock, event_log
from core.errors import Refusal
from core.roles import Right
from core.time_format import in_words

if TYPE_CHECKING:
    from accounts.models import User

ARCHIVE, DELETE = "archive", "delete"


def kept_records(competition: Competition) -> Sequence[Records]:
    """Return what has to be kept of a competition; nothing if it can be deleted."""
    with transaction.atomic():
        return [each for each in records_of.answers(competition) if each.number]


def end_of(competition: Competition) -> str:
    """Return how `end_competition` would end it now: `ARCHIVE` or `DELETE`."""
    return ARCHIVE if kept_records(competition) else DELETE


def end_competition(*, competition: Competition, slug: str, seen: str, by: User, reason: str) -> None:
    """Delete a competition, or archive it if it has records, for an owner who typed its `slug`.

    `seen` is the `end_of` that the person saw. The teams of a deleted one go with it: they have pushed nothing. What
    workers hold of an archived one they finish and commit, and nothing more is claimed.

    Raise `Refusal` for anyone else, for another slug, if it would end otherwise than `seen` by now, if it is archived
    already, and while a round is under way.
    """
    with transaction.atomic():
        # in the lock order; no row that refers to the competition can be added until the end of the transaction
        entered = Team.objects.filter(entry__competition=competition.pk)
        teams = list(entered.select_for_update(of=("self",)).order_by("pk"))
        locked = Competition.objects.select_for_update().filter(pk=competition.pk).first()
        if locked is None:
            raise Refusal(f"{competition.title} has been deleted already", fix="no action needed")
        require(by, locked, Right.ARCHIVE)
        if slug.strip() != locked.slug:
            raise Refusal(
                f"“{slug.strip()}” is not the short name of {locked.title}, so nothing was changed",
                fix=f"type {locked.slug}",
            )
        if locked.archived_at is not None:
            raise Refusal(f"{locked.title} was archived at {in_words(locked.archived_at)}", fix="no action needed")
        if seen != end_of(locked) or set(entered) != set(teams):
            raise Refusal(
                f"a team has entered {locked.title}, submitted or pushed since you opened the page, so nothing was "
                "changed",
                fix="look at the page again",
            )
        if seen == ARCHIVE:
            _archive(locked, by, reason)
        else:
            _delete(locked, teams, by, reason)


def unarchive(*, competition: Competition, by: User, reason: str) -> None:
    """Take a competition back from the archive: what waits in it is claimed again. Raise `Refusal`."""
    with transaction.atomic():
        locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        require(by, locked, Right.ARCHIVE)
        if locked.archived_at is None:
            raise Refusal(f"{locked.title} is not archived", fix="no action needed")
        require_played_here(locked)
        since, locked.archived_at = locked.archived_at, None
        locked.save(update_fields=["archived_at"])
        event_log.record("unarchive", locked, by=by, reason=reason, slug=locked.slug, since=since.isoformat())


def _archive(locked: Competition, by: User, reason: str) -> None:
    check_before_archiving.answers(locked)
    locked.archived_at = clock.now()
    locked.save(update_fields=["archived_at"])
    event_log.record("archive", locked, by=by, reason=reason, slug=locked.slug)


def _delete(locked: Competition, teams: Sequence[Team], by: User, reason: str) -> None:
    event_log.record(
        "delete_competition", locked, by=by, reason=reason, slug=locked.slug, title=locked.title,
        teams=[team.slug for team in teams],
    )  # fmt: skip
    for rows in reversed(deleted_with.answers(locked)):
        for each in rows:
            each.delete()
    TermsAcceptance.objects.filter(entry__competition=locked).delete()
    Entry.objects.filter(competition=locked).delete()
    Team.objects.filter(pk__in=[team.pk for team in teams]).delete()
    locked.sample_sets.filter(drawn_from__isnull=False).delete()  # they protect the sets that they were drawn from
    locked.delete()
