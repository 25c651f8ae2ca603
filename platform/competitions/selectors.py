"""What is known of competitions, and who may see them."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.selectors import is_member
from competitions.models import Competition, Entry, Organiser, RulesVersion, SampleSet
from core.errors import Fault


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


def rules_in_force(competition: Competition) -> RulesVersion:
    """The newest version of the rules; raises `Fault` where there is none."""
    version = competition.rules_versions.order_by("-version").first()
    if version is None:
        raise Fault(f"{competition.slug} has no rules")
    return version


def sample_set_for(competition: Competition, purpose: str) -> SampleSet:
    """The newest sample set of the purpose; raises `Fault` where there is none."""
    found = competition.sample_sets.filter(purpose=purpose).order_by("-pk").first()
    if found is None:
        raise Fault(f"{competition.slug} has no {purpose} samples")
    return found
