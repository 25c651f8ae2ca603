"""Who sees what of a match.

A match on secret samples shows numbers that a score is made of: how many samples ended how, medians and means, and a
curve over fixed distances. A row for each sample would be a channel: an attack sees the images, and could write them
into its queries, seconds and distances. So rows and images of secret samples follow the releases of a round.

- Everyone sees a match of a leaderboard once a counted score holds it: while leaderboards are frozen, a score known at
  the freeze. A team also sees those of its own submissions.
- Everyone sees a match of a round once that is published, with the samples that the outcome uses. Where the first
  panel would show the order of frozen leaderboards, nobody does before these are released.
- The rows of a match are public with the bundle, perturbed images with the perturbed images, clean ones with the
  images.
- Matches on development samples show everything, and organisers see everything.
- What a hidden attack made is shown to organisers alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q

from accounts.models import User
from accounts.selectors import teams_of
from competitions.board_freezes import frozen_since
from competitions.models import Competition
from competitions.permissions import may
from competitions.sample_pictures import CLEAN, PERTURBED
from core.roles import Right
from formats.query.leaderboards.evaluation_basis import COUNTED, counted_at
from formats.query.leaderboards.models import Evaluation
from formats.query.matches.models import Match
from rounds.models import Release, Round
from rounds.publishing.pair_visibility import pairs_public, released_parts


@dataclass(frozen=True)
class Sight:
    """What a person sees of a match: a row for each sample with its queries, perturbed and clean images.

    `samples`: only of the first ones, None for all of them. `replayable`: the seed and the samples are released, so
    anybody can play it again.
    """

    rows: bool
    perturbed: bool
    clean: bool
    samples: int | None = None
    replayable: bool = False

    def shows(self, sample: int, picture: str) -> bool:
        """Return whether a picture of a sample is among it; a difference shows the clean image as well."""
        seen = (self.clean or picture == PERTURBED) and (self.perturbed or picture == CLEAN)
        return seen and (self.samples is None or sample < self.samples)


_EVERYTHING = Sight(rows=True, perturbed=True, clean=True)
_NUMBERS = Sight(rows=False, perturbed=False, clean=False)


def sight_of(match: Match, user: User | AnonymousUser) -> Sight | None:
    """Return what the person sees of a match, None if nothing; for a competition that the person sees.

    `match` comes with its rules, competition, sample set, round and attack.
    """
    organises = may(user, match.rules.competition, Right.SEE_SECRETS)
    sight = _sight(match, user, organises=organises)
    return replace(sight, perturbed=False) if sight and match.attack.hidden and not organises else sight


def _sight(match: Match, user: User | AnonymousUser, *, organises: bool) -> Sight | None:
    competition = match.rules.competition
    round_match = getattr(match, "round_match", None)
    if round_match is not None and pairs_public(round_match.round, user) and round_match.samples:
        released = _released(round_match.round, round_match.samples)
        return replace(_EVERYTHING, replayable=released.replayable) if organises else released
    if organises:
        return _EVERYTHING
    if round_match is not None:
        return None
    shown = match.evaluations.filter(scores_seen(competition, user))
    if not shown.exists():
        return None
    return _NUMBERS if match.sample_set.secret else _EVERYTHING


def scores_seen(competition: Competition, user: User | AnonymousUser) -> Q:
    """Return the condition that the person sees the score of an evaluation of the competition."""
    scored = Q(state=Evaluation.State.SCORED)
    since = frozen_since(competition)
    if since is None or may(user, competition, Right.SEE_SECRETS):
        return scored & COUNTED
    public = counted_at(since)
    return scored & (public | (COUNTED & Q(submission__repository__entry__team__in=teams_of(user))))


def _released(round_: Round, samples: int) -> Sight:
    parts = released_parts(round_)
    rows, clean = Release.Part.BUNDLE in parts, Release.Part.IMAGES in parts
    perturbed = Release.Part.PERTURBED in parts
    return Sight(rows=rows, perturbed=perturbed, clean=clean, samples=samples, replayable=rows and clean)
