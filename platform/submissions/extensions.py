"""What submissions add to lower apps."""

from __future__ import annotations

from django.db.models import QuerySet

from competitions.extension_points import Records, deleted_with, records_of
from competitions.models import Competition
from submissions.build_work import builds
from submissions.models import Player, QuotaSlot
from submissions.player_builds import check_host
from submissions.unused_image_removal import collect_if_due
from workers.extension_points import host_checks, housekeeping
from workers.work_kind_interface import kinds

kinds.append(builds)
host_checks.add(check_host)
housekeeping.add(collect_if_due)


@records_of.add
def submissions_of(competition: Competition) -> Records:
    """Return how many submissions the competition has, with those that are being pushed: each has a slot."""
    return Records(QuotaSlot.objects.filter(repository__entry__competition=competition).count(), "submission")


@deleted_with.add
def baseline_players(competition: Competition) -> list[QuerySet[Player]]:
    """Return the players of a competition without submissions: its baselines."""
    return [Player.objects.filter(competition=competition)]
