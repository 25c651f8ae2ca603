"""Find repositories, and say who may do what with them."""

from __future__ import annotations

from accounts.models import Team, User
from accounts.selectors import is_member
from competitions.models import Entry, Track
from competitions.selectors import may_organise, visible_competitions
from repositories.models import Repository


def place_of(team: str, track_name: str, user: User) -> tuple[Entry, Track] | None:
    """The entry and track behind an address of a repository; None where there is none that `user` may know of."""
    entry = Entry.objects.select_related("team", "competition").filter(team__slug=team).first()
    track = Track.objects.filter(competition=entry.competition, name=track_name).first() if entry else None
    if entry is None or track is None:
        return None
    known = (
        is_member(user, entry.team)
        or may_organise(user, entry.competition)
        or visible_competitions(user).filter(pk=entry.competition_id).exists()
    )
    return (entry, track) if known else None


def public_repository(team: str, track_name: str) -> Repository | None:
    """The repository behind a public address; None where nothing of it was released, or its competition is hidden."""
    return Repository.objects.filter(
        entry__team__slug=team,
        track__name=track_name,
        public_since__isnull=False,
        track__competition__public=True,
    ).first()


def access_problem(user: User, entry: Entry, *, pushing: bool) -> str:
    """Why `user` may not clone, or push where `pushing`; empty where they may."""
    if is_member(user, entry.team):
        return ""
    name = _name(entry.team)
    if may_organise(user, entry.competition):
        return f"organisers read the repositories of {name}; only its members push" if pushing else ""
    return f"{user} is no member of {name}: only members {'push' if pushing else 'clone'} here"


def _name(team: Team) -> str:
    return f"the team {team.name}"
