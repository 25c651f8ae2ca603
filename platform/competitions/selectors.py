"""What is known of competitions, and who may see them."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import Invitation, Team, User
from accounts.selectors import is_member
from competitions.models import Competition, Entry, FreezeWindow, Organiser, RulesVersion, SampleSet
from competitions.sample_store import image_hashes
from core import clock
from core.errors import Fault

SHOWN = (SampleSet.Purpose.DEVELOPMENT, SampleSet.Purpose.VALIDATION)
"""Purposes of sets that are public or played all the time."""


def may_organise(user: User | AnonymousUser, competition: Competition) -> bool:
    """Whether the person may see and change everything of the competition."""
    if not user.is_active:
        return False
    return user.is_superuser or Organiser.objects.filter(competition=competition, user_id=user.pk).exists()


def sees_everything_of(user: User | AnonymousUser, entry: Entry) -> bool:
    """Whether the person sees what is between a team and its organisers."""
    return is_member(user, entry.team) or may_organise(user, entry.competition)


def visible_competitions(user: User | AnonymousUser) -> QuerySet[Competition]:
    """Public ones for everybody, all for superusers, and their own for organisers."""
    if user.is_active and user.is_superuser:
        return Competition.objects.all()
    if not user.is_authenticated:
        return Competition.objects.filter(public=True)
    own = Organiser.objects.filter(user=user).values("competition")
    return Competition.objects.filter(Q(public=True) | Q(pk__in=own))


def other_team(user: User, entry: Entry) -> Team | None:
    """The team of the competition that the person is in, where it is another one than the entry's."""
    teams = Team.objects.filter(memberships__user=user, entry__competition=entry.competition_id)
    return teams.exclude(pk=entry.team_id).first()


def invitations_of(user: User | AnonymousUser) -> QuerySet[Invitation]:
    """The invitations that the person can accept now, with their teams: open, to competitions that the person sees,
    that go on, and in which the person neither organises nor is in a team."""
    if not user.is_authenticated or user.is_superuser:
        return Invitation.objects.none()
    now = clock.now()
    competitions = visible_competitions(user).filter(ends_at__gt=now)
    competitions = competitions.exclude(organisers=user).exclude(entries__team__memberships__user=user)
    return Invitation.objects.filter(
        user=user, state=Invitation.State.OPEN, expires_at__gt=now, team__entry__competition__in=competitions
    ).select_related("team__entry__competition", "invited_by")


def rules_in_force(competition: Competition) -> RulesVersion:
    """The newest version of the rules; raises `Fault` where there is none."""
    version = competition.rules_versions.order_by("-version").first()
    if version is None:
        raise Fault(f"{competition.slug} has no rules")
    return version


def sample_set_for(competition: Competition, purpose: str) -> SampleSet:
    """The newest imported sample set of the purpose; raises `Fault` where there is none."""
    found = imported_sets(competition).filter(purpose=purpose).order_by("-pk").first()
    if found is None:
        raise Fault(f"{competition.slug} has no {purpose} samples")
    return found


def standing_windows(competition: Competition) -> QuerySet[FreezeWindow]:
    """The freeze windows that were, are or will be in force: without those that were called off."""
    return competition.freeze_windows.filter(called_off_at__isnull=True)


def imported_sets(competition: Competition) -> QuerySet[SampleSet]:
    """The sample sets that were read from data sets: without those that were drawn from them for rounds."""
    return competition.sample_sets.filter(drawn_from__isnull=True)


def described_sets(competition: Competition) -> QuerySet[SampleSet]:
    """The imported sets that the competition's file describes: without the validation sets that the site chose."""
    return imported_sets(competition).filter(replaces__isnull=True)


def shown_sets() -> QuerySet[SampleSet]:
    """Sets, of whatever competition, whose images somebody or some player saw, sees, or is going to see.

    Those that were drawn for rounds are none of them: their sources are.
    """
    shown = Q(purpose__in=SHOWN) | Q(matches__isnull=False) | Q(draws__isnull=False)
    return SampleSet.objects.filter(shown, drawn_from__isnull=True).order_by("pk").distinct()


def overlapping(sample_set: SampleSet, others: Iterable[SampleSet]) -> SampleSet | None:
    """The first of `others` that shares an image with the set; itself is none of them. Reads all their images."""
    own = image_hashes(sample_set)
    return next((other for other in others if other.pk != sample_set.pk and own & image_hashes(other)), None)
