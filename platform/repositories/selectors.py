"""Look-up of repositories, and access rules."""

from __future__ import annotations

from accounts.models import Team, User
from accounts.selectors import is_member
from competitions.models import Entry, Track
from competitions.selectors import may_organise, visible_competitions
from repositories.models import Repository


def place_of(team: str, track_name: str, user: User) -> tuple[Entry, Track] | None:
    """Return the entry and track behind a repository address; None if there is none that `user` may see."""
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
    """Return the repository behind a public address; None if nothing was released or the competition is hidden."""
    return Repository.objects.filter(
        entry__team__slug=team,
        track__name=track_name,
        public_since__isnull=False,
        track__competition__public=True,
    ).first()


def access_problem(user: User, entry: Entry, *, pushing: bool) -> str:
    """Return why `user` may not clone, or push if `pushing`; empty if they may."""
    if is_member(user, entry.team):
        return ""
    name = _name(entry.team)
    if may_organise(user, entry.competition):
        return f"organisers can only read the repositories of {name}; only its members can push" if pushing else ""
    return f"{user} is not a member of {name}: only members can {'push' if pushing else 'clone'} here"


def _name(team: Team) -> str:
    return f"the team {team.name}"
