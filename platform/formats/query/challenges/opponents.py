"""Whom a submission may challenge: opponents of the other side whose files are public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from competitions.bundled_baselines import bundled
from competitions.models import Competition
from core.errors import Refusal
from formats.query import NAME
from formats.query.tracks import ATTACK_TRACKS, MODEL
from rounds.release.released_parts import public_entries
from submissions.models import Submission

_MOST_DIGITS = 18


@dataclass(frozen=True)
class ChallengeOpponent:
    """An opponent: `name` is that of a bundled submission, or the number of a released one, `submission`."""

    name: str
    track_name: str
    title: str
    team: str = ""
    submission: Submission | None = None

    def __str__(self) -> str:
        return f"{self.title} by {self.team} (submission {self.name})" if self.submission else self.name


def opponents_of(submission: Submission) -> Sequence[ChallengeOpponent]:
    """Return the opponents of a submission: bundled baselines of the competition, then submissions with public code."""
    competition = submission.repository.entry.competition
    tracks = _other_side(submission.repository.track.name)
    return [*_baselines(competition, tracks), *_released(competition, tracks)]


def opponent_of(submission: Submission, name: str) -> ChallengeOpponent:
    """Return the opponent that a request names. Raise `Refusal` for one of the same side, or that is not public."""
    possible = opponents_of(submission)
    found = next((each for each in possible if each.name == name), None)
    if found is not None:
        return found
    names = ", ".join(each.name for each in possible)
    fix = f"choose one of {names}" if names else "no opponent is public yet: wait until code is released"
    raise Refusal(_why_not(submission, name), fix=fix)


def _why_not(submission: Submission, name: str) -> str:
    """Return why `name` names no opponent; a submission that is not public looks the same whatever its state is."""
    repository = submission.repository
    own_side = (MODEL,) if repository.track.name == MODEL else ATTACK_TRACKS
    same_side = [each.name for each in _baselines(repository.entry.competition, own_side)]
    is_number = name.isascii() and name.isdecimal() and len(name) <= _MOST_DIGITS
    others = Submission.objects.filter(
        repository__entry__competition=repository.entry.competition_id, repository__track__name__in=own_side
    )
    if name in same_side or (is_number and others.filter(pk=int(name)).exists()):
        what = "a model challenges attacks" if repository.track.name == MODEL else "an attack challenges models"
        return f"{name} is on the same side as submission {submission.pk}: {what}"
    if is_number:
        return f"there is no submission {name} of the other side whose code is released"
    return f"{name!r} is neither a bundled baseline of this competition nor the number of a submission"


def _other_side(track_name: str) -> Sequence[str]:
    return ATTACK_TRACKS if track_name == MODEL else (MODEL,)


def _baselines(competition: Competition, tracks: Sequence[str]) -> list[ChallengeOpponent]:
    """Return the baselines that come with the site; the files of organisers' own ones are not public."""
    return [
        ChallengeOpponent(name, track.name, name)
        for track in competition.tracks.filter(name__in=tracks).order_by("pk")
        for name in track.baselines
        if name not in track.own_baselines and name in bundled(NAME, track.name)
    ]


def _released(competition: Competition, tracks: Sequence[str]) -> list[ChallengeOpponent]:
    found = {}
    for entry in public_entries(competition):
        if entry.track.name in tracks and entry.submission.player_id is not None:
            sent = entry.submission
            team = sent.repository.entry.team.name
            found[sent.pk] = ChallengeOpponent(str(sent.pk), entry.track.name, sent.title, team, sent)
    return [found[key] for key in sorted(found, reverse=True)]
