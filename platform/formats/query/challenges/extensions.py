"""What challenges add to lower apps, connected by `ChallengesConfig.ready`."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from competitions.extension_points import sets_in_use
from competitions.models import SampleSet
from formats.query.challenges.challenge_work import challenges
from formats.query.challenges.models import Challenge
from submissions.extension_points import players_in_use
from submissions.models import Player
from workers.work_kind_interface import kinds

kinds.append(challenges)


@sets_in_use.add
def challenged_sets() -> QuerySet[SampleSet]:
    """Return the sample sets that challenges are played on."""
    return SampleSet.objects.filter(pk__in=Challenge.objects.order_by().values("sample_set"))


@players_in_use.add
def challenging_players() -> QuerySet[Player]:
    """Return the players of challenges that are not played."""
    waiting = challenges.playable().filter(state__in=Challenge.OPEN).order_by()
    own, opponents = waiting.values("submission__player"), waiting.exclude(opponent=None).values("opponent__player")
    return Player.objects.filter(Q(pk__in=own) | Q(pk__in=opponents))
