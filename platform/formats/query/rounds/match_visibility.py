"""Who sees what of a match, and of a pair of the transfer format.

A match on secret samples shows numbers that a score is made of: how many samples ended how, medians and means, and a
curve over fixed distances. A row for each sample would be a channel: an attack sees the images, and could write them
into its queries, seconds and distances. So rows and images of secret samples follow the releases of a round.

- Everyone sees a match of a leaderboard once a counted score holds it: while leaderboards are frozen, a score known at
  the freeze. A team also sees those of its own submissions.
- Everyone sees a match of a round once that is published, with the samples that the outcome uses. Where the first
  panel would show the order of frozen leaderboards, nobody does before these are released.
- In the transfer format, everyone sees the pairs of a round once it is published: counts by epsilon and runs. Errors by
  class follow from the bundle, and are public with it; until then a defence, which chooses what it labels, would learn
  the classes of single images.
- The rows of a match are public with the bundle, perturbed images with the perturbed images, clean ones with the
  images.
- Matches on development samples show everything, and organisers see everything.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q

from accounts.models import User
from accounts.selectors import teams_of
from competitions.models import Competition
from competitions.selectors import may_organise
from leaderboards.evaluation_basis import COUNTED, counted_at
from leaderboards.models import Evaluation
from leaderboards.visibility import frozen_since
from matches.models import Match
from rounds.models import Release, Round


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


_EVERYTHING = Sight(rows=True, perturbed=True, clean=True)
_NUMBERS = Sight(rows=False, perturbed=False, clean=False)


def sight_of(match: Match, user: User | AnonymousUser) -> Sight | None:
    """Return what the person sees of a match, None if nothing; for a competition that the person sees.

    `match` comes with its rules, competition, sample set and round.
    """
    competition = match.rules.competition
    organises = may_organise(user, competition)
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


def images_seen(round_: Round, user: User | AnonymousUser, parts: Collection[str] | None = None) -> bool:
    """Return whether the person sees rows, clean and perturbed images of every pair of a published round.

    As on the pages of its matches: after their release, and organisers always. `parts`: those released, if known.
    """
    if round_.state != Round.State.PUBLISHED or not pairs_public(round_, user):
        return False
    known = _released_parts(round_) if parts is None else parts
    needed = (Release.Part.BUNDLE, Release.Part.IMAGES, Release.Part.PERTURBED)
    return all(part in known for part in needed) or may_organise(user, round_.competition)


def scores_seen(competition: Competition, user: User | AnonymousUser) -> Q:
    """Return the condition that the person sees the score of an evaluation of the competition."""
    scored = Q(state=Evaluation.State.SCORED)
    since = frozen_since(competition)
    if since is None or may_organise(user, competition):
        return scored & COUNTED
    public = counted_at(since)
    return scored & (public | (COUNTED & Q(submission__repository__entry__team__in=teams_of(user))))


def pairs_public(round_: Round, user: User | AnonymousUser) -> bool:
    """Return whether the person sees who met whom in a round.

    If the leaderboards were frozen before the round, the pairs of the first stage show their secret order, unless
    everybody meets everybody.
    """
    since = frozen_since(round_.competition)
    hidden = round_.seeded and since is not None and since <= round_.window.starts_at
    return (round_.state == Round.State.PUBLISHED and not hidden) or may_organise(user, round_.competition)


def class_errors_seen(round_: Round, user: User | AnonymousUser) -> bool:
    """Return whether the person sees the errors by class of the pairs of a published round."""
    return Release.Part.BUNDLE in _released_parts(round_) or may_organise(user, round_.competition)


def _released(round_: Round, samples: int) -> Sight:
    parts = _released_parts(round_)
    rows, clean = Release.Part.BUNDLE in parts, Release.Part.IMAGES in parts
    perturbed = Release.Part.PERTURBED in parts
    return Sight(rows=rows, perturbed=perturbed, clean=clean, samples=samples, replayable=rows and clean)


def _released_parts(round_: Round) -> set[str]:
    return set(round_.releases.filter(withdrawn_at=None).values_list("part", flat=True))
