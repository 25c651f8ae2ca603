"""Look-up of repositories by address, and access to them."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import User
from accounts.selectors import is_member
from competitions.models import Entry, Track
from competitions.permissions import may, visible_competitions
from core.roles import Right
from repositories.models import Repository


@dataclass(frozen=True)
class Access:
    """What `user` has to do with the repository of `entry` for `track`."""

    user: User
    entry: Entry
    track: Track
    member: bool
    organiser: bool

    def problem(self, *, pushing: bool) -> str:
        """Return why the user may not clone, or push if `pushing`; empty if they may."""
        if self.member or (self.organiser and not pushing):
            return ""
        name = f"the team {self.entry.team.name}"
        if self.organiser:
            return f"organisers can only read the repositories of {name}; only its members can push"
        return f"{self.user} is not a member of {name}: only members can {'push' if pushing else 'clone'} here"


def access_to(team: str, track_name: str, user: User) -> Access | None:
    """Return what `user` may do at a repository address; None if there is none that `user` may see."""
    entry = Entry.objects.select_related("team", "competition").filter(team__slug=team).first()
    track = Track.objects.filter(competition=entry.competition, name=track_name).first() if entry else None
    if entry is None or track is None:
        return None
    member = is_member(user, entry.team)
    organiser = not member and may(user, entry.competition, Right.SEE_SECRETS)
    if not (member or organiser or visible_competitions(user).filter(pk=entry.competition_id).exists()):
        return None
    return Access(user, entry, track, member, organiser)


def public_repository(team: str, track_name: str) -> Repository | None:
    """Return the repository behind a public address; None if nothing was released or the competition is hidden."""
    return Repository.objects.filter(
        entry__team__slug=team,
        track__name=track_name,
        public_since__isnull=False,
        track__competition__public=True,
    ).first()
