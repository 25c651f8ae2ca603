"""Adapter: builds a player of the transfer format on this host from a commit or a bundled submission."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from django.conf import settings

from competitions.baseline_files import baseline_files
from competitions.models import Track
from core.errors import Fault
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import BuildRefusal, HostRefusal, ManifestRefusal
from evaluation.domain.players import Program
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.legacy.environment import legacy_environment
from repositories.models import Repository
from submissions.models import Player, Submission
from submissions.player_builds import (
    LogLine,
    baseline_of,
    checkout_of,
    discard_checkout,
    docker_builder,
    fetch_image,
    first_checkout,
    rebuilt,
    row_of,
    row_of_commit,
)
from workers.sandboxes import require_trust


def build(submission: Submission, on_log: LogLine) -> Player:
    """Build the commit of `submission`; return the row of its player.

    Raise `Refusal` (of the manifest, of the build) with the fix, or `Fault`.
    """
    source = first_checkout(submission)
    digest = tree_digest(source)
    built = _built(source, digest, on_log, submission.repository)
    track_name = submission.repository.track.name
    if built.track != track_name:
        raise ManifestRefusal(
            f"metadata.json is of the track {built.track}, but this repository is for {track_name}",
            fix="correct type, or push to the other repository",
        )
    return row_of_commit(submission, _program(built, submission.given_title or submission.title), digest, files=digest)


def baseline_player(track: Track, name: str, on_log: LogLine) -> Player:
    """Build the baseline `name` on this host; return its row. Raise `Fault` if there is none of that name."""
    found = baseline_files(track, name)
    built = _rebuilt(found.repository(), found.digest, on_log)
    return row_of(track, _program(built, name), baseline=name, files=found.digest)


def ready_player(player: Player, on_log: LogLine) -> TransferPlayer:
    """Return `player` as the engine runs it here: its files, and the image of its first successful build, if any.

    Its files are hashed once. Raise `ImageFault` if the site lacks the image, and `Fault` if it cannot be built again,
    or not to the same digest: its batches were played with other content.
    """
    source, digest = _source_of(player)
    if player.image:
        fetch_image(player, docker_builder())
        return TransferPlayer(
            name=player.title,
            track=TransferTrack(player.track_name),
            entry_point=player.command[0],
            digest=player.digest,
            source=source,
            image=player.image,
            gpu=player.gpu,
        )
    built = _rebuilt(source, digest, on_log)
    if built.digest != player.digest:
        raise Fault(
            f"{player} was rebuilt with digest {built.digest}: the base image, or the legacy environment or image, has "
            "changed, or is another one on this host"
        )
    return built


def has_legacy_environment() -> bool:
    """Return whether the site runs submissions of 2017. Raise `Fault` if its environment for them is broken."""
    try:
        return legacy_environment() is not None
    except HostRefusal as refusal:
        raise Fault(f"the site cannot plan builds of 2017: {refusal.problem}") from refusal


def _source_of(player: Player) -> tuple[Path, str]:
    """Return the directory of its files and their digest.

    Raise `Fault` if they are no longer those with which it was played.
    """
    if player.repository is None:
        found = baseline_of(player)
        if found.digest != player.tree_digest:
            raise Fault(f"this version of Gauntlet bundles another {player.baseline} than the one that is {player}")
        return found.repository(), found.digest
    source = checkout_of(player.repository, player.commit)
    digest = _digest_of(source, player)
    if not digest:  # something wrote into the checkout
        discard_checkout(player)
        source = checkout_of(player.repository, player.commit)
        digest = _digest_of(source, player)
        if not digest:
            raise Fault(f"the files of commit {player.commit} are not those of {player}")
    return source, digest


def _digest_of(source: Path, player: Player) -> str:
    """Return the digest of the files in `source`; "" if they are not those of the player."""
    try:
        digest = tree_digest(source)
    except BuildRefusal:  # a file that no submission may have
        return ""
    # without a stored digest it was built by a version that stored none
    return digest if player.tree_digest in ("", digest) else ""


def _built(source: Path, digest: str, on_log: LogLine, repository: Repository | None = None) -> TransferPlayer:
    require_trust()
    images = docker_builder(repository) if settings.SANDBOX == "docker" else None
    return build_player(source, sandbox=settings.SANDBOX, on_log=on_log, images=images, digest=digest)


def _rebuilt(source: Path, digest: str, on_log: LogLine) -> TransferPlayer:
    return rebuilt(source, partial(_built, digest=digest, on_log=on_log))


def _program(built: TransferPlayer, title: str) -> Program:
    """Return what the row of a player stores of it.

    A submission of 2017 has no image of its own: it runs in the legacy image of the site.
    """
    image = None if built.legacy else built.image
    return Program(
        name=title,
        command=(built.entry_point,),
        digest=built.digest,
        directory=None if image else built.source,
        image=image,
        gpu=built.gpu,
    )
