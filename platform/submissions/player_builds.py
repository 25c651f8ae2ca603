"""Adapter: builds a player on this host from a commit or a bundled baseline."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from competitions.bundled_baselines import bundled_repository
from competitions.models import Track
from competitions.smoke_opponents import unpack_opponent
from core import clock
from core.errors import Fault, HostFault
from evaluation.baselines.catalogue import find_baseline
from evaluation.builder.base import Builder
from evaluation.builder.choose_builder import choose_builder
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.settings import build_settings_from_environment
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import HostRefusal, ManifestRefusal, Refusal
from evaluation.domain.players import Player as EnginePlayer
from evaluation.domain.players import Program
from evaluation.domain.players import Track as EngineTrack
from evaluation.legacy.builders import any_year_builder
from evaluation.sandbox.host_paths import HostPaths
from repositories.checkout import check_out
from repositories.file_rules import check_files
from repositories.git_reader import GitReader
from repositories.models import Repository
from submissions.image_layers import ObjectLayers
from submissions.models import Player, Submission
from workers.sandboxes import require_trust

LogLine = Callable[[str], None]
"""Called with each line of a build's log as it appears, without the newline."""

_LAYERS = ObjectLayers()

_NO_IMAGES = "this host runs players without images: set GAUNTLET_SANDBOX as on the other hosts"

_UNUSED = timedelta(days=1)
"""Time that an unused checkout is kept: longer than any match needs its own. A missing one is made again."""


def build(submission: Submission, on_log: LogLine) -> Player:
    """Build the commit of `submission`; return the row of its player.

    Raise `Refusal` (of the manifest, of the build) with the fix, or `Fault`.
    """
    repository = submission.repository
    source = first_checkout(submission)
    built = _builder().build(source, on_log=on_log)
    track_name = repository.track.name
    if built.track != track_name:
        raise ManifestRefusal(
            f'submission.toml: track is "{built.track}", but this repository is for the {track_name} track',
            fix=f'write track = "{track_name}", or push to the other repository',
        )
    return row_of(
        repository.track,
        built,
        repository=repository,
        commit=submission.commit,
        baseline=same_baseline(repository.track, source),
    )


def baseline_player(track: Track, name: str, on_log: LogLine) -> Player:
    """Build the bundled submission `name` on this host; return its row. Raise `Fault` if there is none of that name."""
    built = _rebuild(_builder(), _baseline_path(name), on_log)
    return row_of(track, built, baseline=name)


def ready_player(player: Player, on_log: LogLine) -> EnginePlayer:
    """Return `player` as the engine starts it here.

    A player that Docker built is the image of its first successful build, fetched from the store if this host does not
    have it. Others are rebuilt from their files. Raise `HostFault` if this host lacks image or files, `Fault` if the
    build fails or gives another digest: its matches were played with other content.
    """
    builder = _builder()
    if player.image and not isinstance(builder, DockerBuilder):
        raise HostFault(_NO_IMAGES)
    if isinstance(builder, DockerBuilder) and player.image:
        builder.fetch(player.image)
        return EnginePlayer(
            name=player.title,
            track=EngineTrack(player.track_name),
            command=tuple(player.command),
            digest=player.digest,
            image=player.image,
            gpu=player.gpu,
            team=_team_of(player),
        )
    built = _rebuild(builder, _source_of(player), on_log)
    if built.digest != player.digest and player.repository is not None:
        # something wrote into the checkout, perhaps the player
        discard_checkout(player)
        built = _rebuild(builder, _source_of(player), on_log)
    if built.digest != player.digest:
        raise Fault(f"{player} was rebuilt with digest {built.digest}: the base image or the SDK has changed")
    return replace(built, team=_team_of(player))


def _team_of(player: Player) -> str:
    """Return the team that the locks of a host know, empty for a bundled submission."""
    return "" if player.repository is None else str(player.repository.entry.team_id)


def trusted_baseline(name: str) -> EnginePlayer:
    """Build the bundled submission `name` for the process sandbox, whatever sandbox the players of teams use."""
    return _rebuild(choose_builder("process"), _baseline_path(name), lambda line: None)


def check_host() -> None:
    """Raise `Fault` if this host cannot build now."""
    _builder().check_host()


def kept_opponent(digest: str) -> EnginePlayer:
    """Build the organisers' model for the smoke test as a team's submission is built; raise `Fault`."""
    folder: Path = settings.CHECKOUTS / f"opponent-{digest}"
    unpack_opponent(digest, folder)
    os.utime(folder)
    return _rebuild(_builder(), folder, lambda line: None)


def build_limit() -> timedelta:
    """Return how long one build may take before its builder stops it."""
    try:
        return timedelta(seconds=build_settings_from_environment().seconds)
    except HostRefusal as refusal:
        raise HostFault(f"this host is misconfigured: {refusal}") from refusal


def docker_builder() -> DockerBuilder:
    """Return the builder of images; raise `HostFault` if this host builds none."""
    builder = _builder()
    if not isinstance(builder, DockerBuilder):
        raise HostFault(_NO_IMAGES)
    return builder


def checkout_of(repository: Repository, commit: str) -> Path:
    """Return the files of `commit`, checked out once and kept while they are used; raise `Fault`."""
    target = _checkout_path(repository, commit)
    check_out(repository.path, commit, target)
    os.utime(target)
    return target


def first_checkout(submission: Submission) -> Path:
    """Return the files of `submission` for its build. Raise `Refusal` if they exceed the limits in force, or `Fault`.

    It may have been accepted under wider limits.
    """
    repository = submission.repository
    with GitReader(repository.path) as reader:
        check_files(reader.files(submission.commit), reader)
    return checkout_of(repository, submission.commit)


def discard_checkout(player: Player) -> None:
    """Remove the checkout of a player that is no longer what it was when it was built."""
    if player.repository is not None:
        shutil.rmtree(_checkout_path(player.repository, player.commit), ignore_errors=True)


def host_paths(submission: Submission) -> HostPaths:
    """Return the filter that removes this host's paths from all output on `submission`."""
    return HostPaths(_checkout_path(submission.repository, submission.commit))


def remove_unused_checkouts() -> int:
    """Remove the checkouts that were not used for a day; return how many."""
    removed = 0
    last = (clock.now() - _UNUSED).timestamp()
    for folder in settings.CHECKOUTS.glob("*"):
        if folder.stat().st_mtime < last:
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


def _builder() -> Builder:
    require_trust()
    try:
        return any_year_builder(settings.SANDBOX, _LAYERS)
    except HostRefusal as refusal:
        raise HostFault(f"this host is misconfigured: {refusal}") from refusal


def _rebuild(builder: Builder, source: Path, on_log: LogLine) -> EnginePlayer:
    """Build what was built before or is bundled: a failure is a platform error, of the host where it lacks a guard."""
    try:
        return builder.build(source, on_log=on_log)
    except HostRefusal as refusal:
        raise HostFault(f"this host is misconfigured: {refusal}") from refusal
    except Refusal as refusal:
        raise Fault(f"{source.name} can no longer be built: {refusal}") from refusal


def _source_of(player: Player) -> Path:
    if player.repository is None:
        return _baseline_path(player.baseline)
    return checkout_of(player.repository, player.commit)


def _baseline_path(name: str) -> Path:
    try:
        return find_baseline(name).repository()
    except Refusal as refusal:
        raise Fault(refusal.problem) from refusal


def same_baseline(track: Track, source: Path) -> str:
    """Return the name of the track's baseline that has exactly the files of `source`; "" if there is none.

    A copy of a baseline is that baseline, even if it was built first: the owner, the seeds and with them the scores
    must not depend on which build was faster.
    """
    digest = tree_digest(source)
    same = (name for name in track.baselines if bundled_repository(track.name, name).digest == digest)
    return next(same, "")


def _checkout_path(repository: Repository, commit: str) -> Path:
    folder: Path = settings.CHECKOUTS
    return folder / f"{repository.pk}-{commit}"


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

    `files` is the digest of its files if they are not part of its image.
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
    for name, value in added.items():
        setattr(row, name, value)
    if added:
        row.save(update_fields=added)
    return row


def _digest(track: Track, built: Program) -> str:
    """Return the digest of `built`. A new build of a recipe whose first image is gone is another player."""
    known = Player.objects.filter(competition=track.competition_id, track_name=track.name)
    first = known.filter(digest=built.digest).first()
    if (
        first is None
        or not built.image
        or built.image == first.image
        or _LAYERS.has(first.image.removeprefix("sha256:"))
    ):
        return built.digest
    return f"sha256:{hashlib.sha256(f'{built.digest} {built.image}'.encode()).hexdigest()}"
