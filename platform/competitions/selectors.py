"""Queries about competitions, and who may see them."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import Invitation, Team, User
from accounts.selectors import is_member
from competitions.extension_points import sets_in_use
from competitions.models import (
    Announcement,
    Competition,
    Entry,
    FreezeWindow,
    Organiser,
    RulesVersion,
    SampleSet,
    TermsAcceptance,
    TermsVersion,
)
from competitions.origin import require_played_here
from competitions.sample_store import image_hashes
from core import clock
from core.errors import Fault, Refusal
from core.roles import Right, roles_with
from core.time_format import in_words

SHOWN = (SampleSet.Purpose.DEVELOPMENT, SampleSet.Purpose.VALIDATION)
"""Purposes of sets that are public or played all the time."""

_CHANGES = (Right.RUN, Right.JUDGE, Right.ANSWER)
"""What changes the results of a competition, or goes on in it."""


def may(user: User | AnonymousUser, competition: Competition, right: Right) -> bool:
    """Return whether the person's role in the competition allows something; superusers may do everything."""
    return user.is_active and (user.is_superuser or may_in(user, right).filter(pk=competition.pk).exists())


def may_in(user: User | AnonymousUser, right: Right) -> QuerySet[Competition]:
    """Return the competitions of which `may` is true for the person."""
    if not user.is_active:
        return Competition.objects.none()
    if user.is_superuser:
        return Competition.objects.all()
    return Competition.objects.filter(organiser_roles__user=user.pk, organiser_roles__role__in=roles_with(right))


def require(by: User | AnonymousUser, competition: Competition, right: Right, *, archived: bool = False) -> None:
    """Raise `Refusal` unless the person's role in the competition allows it.

    Nothing runs in an archived one, unless `archived` allows it, and nothing at all changes in an imported one.
    """
    if may(by, competition, right):
        if right is Right.RUN and not archived:
            require_not_archived(competition)
        if right in _CHANGES and not archived and competition.archived_at is not None:
            require_played_here(competition)
        return
    role = Organiser.objects.filter(competition=competition, user=by.pk).first()
    if role is None or not by.is_active:
        raise Refusal(f"only organisers of {competition.title} can do this", fix="ask an organiser")
    raise Refusal(
        f"your role in {competition.title}, {role.get_role_display().lower()}, does not allow this",
        fix=f"ask somebody who is {' or '.join(roles_with(right))}",
    )


def require_not_archived(competition: Competition) -> None:
    """Raise `Refusal` if the competition is archived."""
    if competition.archived_at is not None:
        raise Refusal(
            f"{competition.title} was archived at {in_words(competition.archived_at)}",
            fix="ask an owner of the competition to take it back; until then it can only be read",
        )


def sees_everything_of(user: User | AnonymousUser, entry: Entry) -> bool:
    """Return whether the person sees what only the team and its organisers see."""
    return is_member(user, entry.team) or may(user, entry.competition, Right.SEE)


def visible_competitions(user: User | AnonymousUser) -> QuerySet[Competition]:
    """Return the public competitions, for organisers also their own, for superusers all."""
    return Competition.objects.filter(Q(public=True) | Q(pk__in=may_in(user, Right.SEE).values("pk")))


def other_team(user: User, entry: Entry) -> Team | None:
    """Return the person's team in the competition if it is not the team of `entry`, else None."""
    teams = Team.objects.filter(memberships__user=user, entry__competition=entry.competition_id)
    return teams.exclude(pk=entry.team_id).first()


def invitations_of(user: User | AnonymousUser) -> QuerySet[Invitation]:
    """Return the invitations that the person can accept now, with their teams.

    They are open, and to competitions that the person sees, that have not ended and are not archived, and in which the
    person neither is an organiser nor has a team.
    """
    if not user.is_authenticated or user.is_superuser:
        return Invitation.objects.none()
    now = clock.now()
    competitions = visible_competitions(user).filter(ends_at__gt=now, archived_at=None)
    competitions = competitions.exclude(organisers=user).exclude(entries__team__memberships__user=user)
    return Invitation.objects.filter(
        user=user, state=Invitation.State.OPEN, expires_at__gt=now, team__entry__competition__in=competitions
    ).select_related("team__entry__competition", "invited_by")


def rules_in_force(competition: Competition) -> RulesVersion:
    """Return the newest version of the rules. Raise `Fault` if there is none."""
    version = competition.rules_versions.order_by("-version").first()
    if version is None:
        raise Fault(f"{competition.slug} has no rules")
    return version


def terms_in_force(competition: Competition) -> TermsVersion | None:
    """Return the newest version of the terms, None if teams have nothing to accept."""
    newest = competition.terms_versions.order_by("-version").first()
    return newest if newest is not None and newest.text else None


def acceptance_of(entry: Entry, terms: TermsVersion) -> TermsAcceptance | None:
    """Return the team's acceptance of the text of a version, also if it accepted the same text as another version."""
    accepted = TermsAcceptance.objects.filter(entry=entry, terms__digest=terms.digest)
    return accepted.select_related("user", "terms").first()


def announcements_of(competition: Competition, *, with_coming: bool = False) -> QuerySet[Announcement]:
    """Return the published announcements, the newest first; for organisers `with_coming` ones."""
    rows = competition.announcements.all()
    return rows if with_coming else rows.filter(published_at__lte=clock.now())


def sample_set_for(competition: Competition, purpose: str) -> SampleSet:
    """Return the newest imported sample set of the purpose. Raise `Fault` if there is none."""
    found = imported_sets(competition).filter(purpose=purpose).order_by("-pk").first()
    if found is None:
        raise Fault(f"{competition.slug} has no {purpose} samples")
    return found


def development_set(competition: Competition) -> SampleSet:
    """Return the development set in force. Raise `Fault` if there is none."""
    return sample_set_for(competition, SampleSet.Purpose.DEVELOPMENT)


def effective_windows(competition: Competition) -> QuerySet[FreezeWindow]:
    """Return the past, current and future freeze windows, without those called off."""
    return competition.freeze_windows.filter(called_off_at__isnull=True)


def imported_sets(competition: Competition) -> QuerySet[SampleSet]:
    """Return the sample sets read from data sets, without the sets drawn for rounds."""
    return competition.sample_sets.filter(drawn_from__isnull=True)


def described_sets(competition: Competition) -> QuerySet[SampleSet]:
    """Return the imported sets described by the competition's file, without validation sets drawn by the site."""
    return imported_sets(competition).filter(replaces__isnull=True)


def shown_sets() -> QuerySet[SampleSet]:
    """Return the sets of all competitions whose images people or players have seen, see, or will see.

    Sets drawn for rounds are represented by their sources.
    """
    shown = Q(purpose__in=SHOWN) | Q(draws__isnull=False)
    for used in sets_in_use.answers():
        shown |= Q(pk__in=used)
    return SampleSet.objects.filter(shown, drawn_from__isnull=True).order_by("pk").distinct()


def overlapping(sample_set: SampleSet, others: Iterable[SampleSet]) -> SampleSet | None:
    """Return the first of `others`, except the set itself, that shares an image with it.

    Reads all images, but none where there is no other set: those of a large set take seconds.
    """
    compared = [other for other in others if other.pk != sample_set.pk]
    own = image_hashes(sample_set) if compared else frozenset()
    return next((other for other in compared if own & image_hashes(other)), None)
