"""Adapter: removal of unused images from this host, and storage of needed ones for all hosts."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, Max, OuterRef, Q
from docker.errors import DockerException

from core import clock
from evaluation.builder.build_container import sweep as sweep_builds
from evaluation.builder.image_archive import DIGEST_LABEL
from evaluation.sandbox.docker_sandbox import DockerSandbox
from submissions.extension_points import players_in_use
from submissions.image_layers import remove_layers
from submissions.models import Player, Submission
from submissions.player_builds import docker_builder, remove_unused_checkouts, sweep_installed
from submissions.selectors import ready_submissions, submitted_baselines
from workers.sandboxes import open_sandbox

GRACE = timedelta(days=1)
"""Minimum age of an image before it is removed: a younger one may soon become a player."""

COLLECT_SECONDS = 3600.0
"""Interval at which a worker removes unused images from its host."""

log = logging.getLogger(__name__)


@dataclass
class _CollectionState:
    """State of this process between tasks, in `time.monotonic()`."""

    collected_at: float = -COLLECT_SECONDS


_process = _CollectionState()


def needed_players() -> set[str]:
    """Return the digests of all players that may be started soon.

    They belong to the newest ready submission of their repository or to one that was made a baseline, or a higher app
    uses them, for example in a pool.
    """
    newest = ready_submissions().values("repository").annotate(newest=Max("pk")).values("newest")
    submitted = (
        Player.objects.filter(submissions__in=newest),
        Player.objects.filter(submissions__in=submitted_baselines()),
    )
    groups = [*submitted, *players_in_use.answers()]
    return {digest for players in groups for digest in players.order_by().values_list("digest", flat=True).distinct()}


def needed_since(since: datetime) -> set[str]:
    """Return the digests of players of which a newer submission or a disqualification made an end after `since`.

    They count again where that is withdrawn or undone. Those that still count are among them.
    """
    newer = ready_submissions().filter(repository=OuterRef("repository"), pk__gt=OuterRef("pk"), state_since__lte=since)
    counted = Submission.objects.filter(
        ~Exists(newer), Q(disqualified_at=None) | Q(disqualified_at__gt=since), state=Submission.State.READY
    )
    return set(Player.objects.filter(submissions__in=counted).order_by().values_list("digest", flat=True).distinct())


def collect() -> int:
    """End leftovers of dead workers, remove unused images, layers and checkouts; return the number of images."""
    sandbox = open_sandbox()
    sandbox.sweep()
    remove_unused_checkouts()
    if not isinstance(sandbox, DockerSandbox):
        return 0
    sweep_builds(sandbox.client)
    sweep_installed()
    return _remove_images(sandbox)


def collect_if_due() -> None:
    """Remove unused images here too: players are also built on hosts without a builder."""
    if time.monotonic() < _process.collected_at + COLLECT_SECONDS:
        return
    _process.collected_at = time.monotonic()
    try:
        collect()
    except Exception:  # the host may still be able to play
        log.warning("unused images could not be removed from this host", exc_info=True)


def keep() -> None:
    """Store the images that players need, and the base image, where every host finds them; remove unused ones there.

    May take a minute: the base image is large.
    """
    if not isinstance(open_sandbox(), DockerSandbox):
        return
    builder = docker_builder()
    base = builder.keep_base_image()
    needed = needed_players()
    for image in Player.objects.filter(digest__in=needed).exclude(image="").values_list("image", flat=True).distinct():
        if builder.has(image):
            builder.keep(image)
    since = clock.now() - settings.IMAGES_KEPT
    remove_layers(needed | needed_since(since), base, newer_than=since)


def _remove_images(sandbox: DockerSandbox) -> int:
    needed = needed_players()
    # the label is the digest of the recipe, which a player of its second build does not have
    images = set(Player.objects.filter(digest__in=needed).exclude(image="").values_list("image", flat=True))
    removed = 0
    for image in sandbox.client.images.list(filters={"label": DIGEST_LABEL}):
        is_needed = image.labels[DIGEST_LABEL] in needed or image.id in images
        if is_needed or _made_at(image.attrs["Created"]) > clock.now() - GRACE:
            continue
        try:
            sandbox.client.images.remove(str(image.id), force=True)
            removed += 1
        except DockerException as error:  # a container is using it
            log.info("image %s is kept: %s", image.id, error)
    return removed


def _made_at(text: str) -> datetime:
    # the engine writes nanoseconds; Python reads microseconds
    return datetime.fromisoformat(f"{text[:19]}+00:00")
