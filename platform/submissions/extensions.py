"""What submissions add to lower apps."""

from __future__ import annotations

from submissions.player_builds import check_host
from workers.extension_points import host_checks

host_checks.add(check_host)
