"""What submissions add to lower apps."""

from __future__ import annotations

from submissions.build_work import builds
from submissions.player_builds import check_host
from submissions.unused_image_removal import collect_if_due
from workers.extension_points import host_checks, housekeeping
from workers.work_kind_interface import kinds

kinds.append(builds)
host_checks.add(check_host)
housekeeping.add(collect_if_due)
