"""Adapter: what all builds of players on this host share, whatever their format."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from django.conf import settings

from competitions.baseline_files import BaselineFiles, baseline_digest, baseline_files
from competitions.models import Track
from core import clock
from core.errors import Fault, HostFault
from evaluation.builder.base import Builder
from evaluation.builder.choose_builder import choose_builder
from evaluation.builder.docker_build_settings import build_settings_from_environment
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.installed_layer_cache import InstalledLayerCache, sweep_installed_layers
from evaluation.builder.layer_store import LayerStore
from evaluation.domain.errors import HostRefusal, ImageFault, Refusal
from evaluation.domain.players import Program, QueryPlayer, TrackName
from evaluation.legacy.environment import legacy_environment
from evaluation.sandbox.host_path_redaction import HostPaths
from repositories.checkout import check_out
from repositories.commit_source import commit_source
from repositories.file_rules import check_files
from repositories.git_reader import GitReader
from repositories.models import Repository
from submissions.image_layers import ObjectLayers, digest_of_second_build, image_is_stored, is_decided_by_recipe
from submissions.models import Player, Submission
from workers.sandboxes import require_trust

LogLine = Callable[[str], None]
"""Called with each line of a build's log as it appears, without the newline."""

ChooseBuilder = Callable[[str, LayerStore | None, InstalledLayerCache | None], Builder]
"""Returns the builder for a sandbox, with the store of its images and the cache of what they install."""

Built = TypeVar("Built")

_LAYERS = ObjectLayers()

_NO_IMAGES = "this host runs players without images: set GAUNTLET_SANDBOX as on the other hosts"

_UNUSED = timedelta(days=1)
"""Time that an unused checkout is kept: longer than any match needs its own. A missing one is made again."""


def check_host() -> None:
    """Raise `Fault` if this host cannot build now."""
    host_builder().check_host()
    with _host_faults():
        legacy_environment()


def build_limit() -> timedelta:
    """Return how long one build may take before its builder stops it."""
    with _host_faults():
        return timedelta(seconds=build_settings_from_environment().seconds)


def host_builder(choose: ChooseBuilder = choose_builder, repository: Repository | None = None) -> Builder:
    """Return the builder that `choose` gives for the sandbox of this host; raise `HostFault`.

    It keeps what it installs for the team of `repository`; without one, it keeps nothing.
    """
    require_trust()
    with _host_faults():
        return choose(settings.SANDBOX, _LAYERS, _installed_layers(repository) if repository else None)


def docker_builder(repository: Repository | None = None) -> DockerBuilder:
    """Return the builder of images, as `host_builder` does; raise `HostFault` if this host builds none."""
    return require_images(host_builder(repository=repository))


def sweep_installed() -> int:
    """Remove what this host keeps of installations and is too old or too much; return the number of layers."""
    with _host_faults():
        return sweep_installed_layers(settings.INSTALLED_LAYERS, build_settings_from_environment().cache)


def _installed_layers(repository: Repository) -> InstalledLayerCache | None:
    limits = build_settings_from_environment().cache
    team = str(repository.entry.team_id)
    return InstalledLayerCache(settings.INSTALLED_LAYERS, team, limits) if limits.days else None


def require_images(builder: Builder) -> DockerBuilder:
    """Return `builder` if it builds images; raise `HostFault` otherwise."""
    if not isinstance(builder, DockerBuilder):
        raise HostFault(_NO_IMAGES)
    return builder


def rebuilt(source: Path, build: Callable[[Path], Built]) -> Built:
    """Build what was built before or is bundled: a failure is a platform error, of the host where it lacks a guard."""
    try:
        with _host_faults():
            return build(source)
    except Refusal as refusal:
        raise Fault(f"{source.name} can no longer be built: {refusal}") from refusal


def player_as_built(
    player: Player, builder: Builder, source_of: Callable[[Player], Path], on_log: LogLine
) -> QueryPlayer:
    """Return a player with the SDK as the engine starts it here; `source_of` returns its files.

    A player that Docker built is the image of its first successful build, fetched from the store if this host does not
    have it. Others are rebuilt from their files. Raise `HostFault` if this host lacks the files, `ImageFault` if the
    site lacks the image, `Fault` if the build fails or gives another digest: it was played with other content.
    """
    if player.image:
        fetch_image(player, require_images(builder))
        return QueryPlayer(
            name=player.title,
            track=TrackName(player.track_name),
            command=tuple(player.command),
            digest=player.digest,
            image=player.image,
            gpu=player.gpu,
        )
    build = partial(builder.build, on_log=on_log)
    built = rebuilt(source_of(player), build)
    if built.digest != player.digest and player.repository is not None:
        # something wrote into the checkout, perhaps the player
        discard_checkout(player)
        built = rebuilt(source_of(player), build)
    if built.digest != player.digest:
        raise Fault(f"{player} was rebuilt with digest {built.digest}: the base image or the SDK has changed")
    return built


def fetch_image(player: Player, builder: DockerBuilder) -> None:
    """Let the engine of `builder` have the image of a player. Raise `ImageFault` if the site no longer has it."""
    try:
        builder.fetch(player.image)
    except ImageFault as fault:
        fix = f"rebuild the baseline {player.baseline}" if player.baseline else "push the submission again"
        raise ImageFault(f"the site no longer has the image of {player}: {fix} ({fault})") from fault


def keep_image(player: Player) -> None:
    """Let the store have all of the image of a player, if the engine of this host has it; raise `Fault`."""
    if player.image and (builder := docker_builder()).has(player.image):
        builder.keep(player.image)


def checkout_of(repository: Repository, commit: str) -> Path:
    """Return the files of `commit`, checked out once and kept while they are used; raise `Fault`."""
    target = _checkout_path(repository, commit)
    if not target.exists():
        with commit_source(repository, commit) as source:
            check_out(source, commit, target)
    os.utime(target)
    return target


def first_checkout(submission: Submission) -> Path:
    """Return the files of `submission` for its build. Raise `Refusal` if they exceed the limits in force, or `Fault`.

    It may have been accepted under wider limits.
    """
    repository, commit = submission.repository, submission.commit
    target = _checkout_path(repository, commit)
    with commit_source(repository, commit) as source:
        with GitReader(source) as reader:
            check_files(reader.files(commit), reader)
        check_out(source, commit, target)
    os.utime(target)
    return target


def discard_checkout(player: Player) -> None:
    """Remove the checkout of a player that is no longer what it was when it was built."""
    if player.repository is not None:
        _remove_checkout(_checkout_path(player.repository, player.commit))


def host_paths(submission: Submission) -> HostPaths:
    """Return the filter that removes this host's paths from all output on `submission`."""
    return HostPaths(_checkout_path(submission.repository, submission.commit))


def remove_unused_checkouts() -> int:
    """Remove the checkouts that were not used for a day; return how many."""
    removed = 0
    last = (clock.now() - _UNUSED).timestamp()
    for folder in settings.CHECKOUTS.glob("*"):
        with suppress(FileNotFoundError):  # another process removed it
            if folder.stat().st_mtime < last:
                removed += _remove_checkout(folder)
    return removed


def _remove_checkout(folder: Path) -> bool:
    """Remove a checkout, at once for all readers: no build finds a part of it, also if this process is killed.

    Return False if there is none.
    """
    going = folder.with_name(f".removed-{uuid.uuid4().hex}")
    try:
        folder.rename(going)
    except FileNotFoundError:
        return False
    shutil.rmtree(going, ignore_errors=True)
    return True


def baseline_of(player: Player) -> BaselineFiles:
    """Return the files of a player that is a baseline. Raise `Fault` if it is neither kept nor bundled any more."""
    return baseline_files(player.competition.tracks.get(name=player.track_name), player.baseline)


def _same_baseline(track: Track, digest: str) -> str:
    """Return the name of the track's baseline whose files have this digest; "" if there is none.

    A copy of a baseline is that baseline, even if it was built first: the owner, the seeds and with them the scores
    must not depend on which build was faster.
    """
    same = (name for name in track.baselines if baseline_digest(track, name) == digest)
    return next(same, "")


@contextmanager
def _host_faults() -> Iterator[None]:
    """Turn a refusal of this host's settings into a `HostFault`."""
    try:
        yield
    except HostRefusal as refusal:
        raise HostFault(f"this host is misconfigured: {refusal}") from refusal


def _checkout_path(repository: Repository, commit: str) -> Path:
    folder: Path = settings.CHECKOUTS
    return folder / f"{repository.pk}-{commit}"


def row_of_commit(submission: Submission, built: Program, digest: str, *, files: str = "") -> Player:
    """Return `row_of` what was built from the commit of `submission`, whose files have this digest."""
    repository = submission.repository
    return row_of(
        repository.track,
        built,
        repository=repository,
        commit=submission.commit,
        baseline=_same_baseline(repository.track, digest),
        files=files,
    )


def row_of(
    track: Track,
    built: Program,
    *,
    repository: Repository | None = None,
    commit: str = "",
    baseline: str = "",
    files: str = "",
) -> Player:
    """Return the row of `built`; for equal content the existing row, while its image is available.

    Where that is gone and the recipe alone decides the content, the row gets the new one, which is equal. `files` is
    the digest of its files if they are not part of its image.
    """
    image = built.image or ""
    row, _ = Player.objects.get_or_create(
        competition_id=track.competition_id,
        track_name=track.name,
        digest=_digest(track, built),
        defaults={
            "title": built.name,
            "command": list(built.command),
            "gpu": built.gpu,
            "image": image,
            "repository": repository,
            "commit": commit,
            "baseline": baseline,
            "tree_digest": files,
            "created_at": clock.now(),
        },
    )
    known_now = {"image": image, "baseline": baseline, "tree_digest": files}
    added = {name: value for name, value in known_now.items() if value and not getattr(row, name)}
    if image and row.image != image and not image_is_stored(row.image):
        added["image"] = image
    for name, value in added.items():
        setattr(row, name, value)
    if added:
        row.save(update_fields=added)
    return row


def _digest(track: Track, built: Program) -> str:
    """Return the digest of `built`.

    A new build of a recipe whose first image is gone is another player, if anything but the recipe decides its content.
    """
    known = Player.objects.filter(competition=track.competition_id, track_name=track.name)
    first = known.filter(digest=built.digest).first()
    if (
        first is None
        or not built.image
        or built.image == first.image
        or image_is_stored(first.image)
        or is_decided_by_recipe(built.image)
    ):
        return built.digest
    return digest_of_second_build(built.digest, built.image)
