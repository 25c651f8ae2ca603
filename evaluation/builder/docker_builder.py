"""The builder that makes images: detection by repo2docker, one lean pack of ours, everything limited."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluation.builder.base import Builder, LogLine
from evaluation.builder.docker_client import BuildOrder, DockerClient, Watch
from evaluation.builder.manifest import read_manifest
from evaluation.builder.recipe import TOP_FILE, Recipe, image_name, make_recipe, top_context
from evaluation.builder.run_script import require_script
from evaluation.builder.settings import BuildSettings
from evaluation.builder.tree import tree_entries
from evaluation.domain.errors import BuildRefusal, Fault, SlowBuildRefusal
from evaluation.domain.players import Player
from evaluation.sandbox.sdk_tree import sdk_digest, write_sdk_tree

LEAST_FREE_BYTES = 512 << 20
"""What the engine's disk must have left for a build to begin; one that leaves less than half of it is stopped."""

DIGEST_LABEL = "gauntlet.digest"
"""The label that an image of ours carries: the whole digest of its recipe."""


class DockerBuilder(Builder):
    """Builds submissions into images of the local engine.

    A submission's image is named `gauntlet/<digest>` by what went into it; where the engine has it already, nothing is
    built. The name follows from a private repository's content and should not be shown: whoever knows it could
    start a Dockerfile from it.
    """

    def __init__(self, settings: BuildSettings | None = None) -> None:
        self._settings = settings or BuildSettings()
        self._docker = DockerClient(self._settings.docker_client)

    def build(self, source: Path, *, on_log: LogLine) -> Player:
        """The image of the submission in `source`, as a player whose digest is that of its recipe.

        The image's id is no name for it: the same recipe gives another id on every engine that builds it.
        """
        entries = tree_entries(source)
        manifest = read_manifest(source)
        require_script(manifest.run, [str(entry.path) for entry in entries])
        base = self._base_image()
        recipe = make_recipe(source.resolve(), self._settings, base_id=base["Id"], sdk_digest=sdk_digest())
        image = self._present(recipe.digest)
        if image is None:
            image = self._make(recipe, base, on_log)
        else:
            on_log(f"{recipe.image_name} is already built")
        return Player(
            name=manifest.title,
            track=manifest.track,
            command=manifest.run,
            digest=recipe.digest,
            image=image["Id"],
            gpu=manifest.gpu,
        )

    def check_host(self) -> None:
        self._base_image()
        disk = self._docker.root_directory()
        if disk and (free := shutil.disk_usage(disk).free) < LEAST_FREE_BYTES:
            raise Fault(f"the engine's disk is full: {free >> 20} MiB are left, {LEAST_FREE_BYTES >> 20} are needed")

    def image_of(self, digest: str) -> str | None:
        """The id of the image that the player called `digest` has on this engine; None where it has none."""
        image = self._present(digest)
        return str(image["Id"]) if image else None

    def _base_image(self) -> dict[str, Any]:
        base = self._docker.image(self._settings.base_image)
        if base is None:
            raise Fault(f"the base image {self._settings.base_image} is not on this engine: run `make base-image`")
        return base

    def _present(self, digest: str) -> dict[str, Any] | None:
        image = self._docker.image(image_name(digest))
        labels = (image or {}).get("Config", {}).get("Labels") or {}
        return image if labels.get(DIGEST_LABEL) == digest else None

    def _make(self, recipe: Recipe, base: dict[str, Any], on_log: LogLine) -> dict[str, Any]:
        self.check_host()
        on_log(f"building {recipe.image_name} with the {recipe.pack} pack")
        watch = self._watch()
        # an image gets its final name only after it passed every check
        stage = f"{recipe.image_name}:stage"
        label = ((DIGEST_LABEL, recipe.digest),)
        with _sdk_directory() as sdk, self._removed_afterwards(stage):
            mirrors = self._settings.mirror_arguments() if recipe.top else ()
            order = BuildOrder(recipe.file, stage, label, recipe.arguments + mirrors, self._settings.network)
            self._docker.build(order, recipe.context(self._settings, sdk), on_log, watch)
            image = self._checked(stage, base)
            if recipe.top:
                order = BuildOrder(TOP_FILE, recipe.image_name, label, network="none")
                self._docker.build(order, top_context(stage, sdk), on_log, watch)
            else:
                self._docker.tag(image["Id"], recipe.image_name)
        final = self._present(recipe.digest)
        if final is None:
            raise Fault(f"{recipe.image_name} vanished after its build")
        return final

    def _checked(self, stage: str, base: dict[str, Any]) -> dict[str, Any]:
        image = self._docker.image(stage)
        if image is None:
            raise Fault(f"{stage} vanished after its build")
        layers, base_layers = image["RootFS"]["Layers"], base["RootFS"]["Layers"]
        on_base = layers[: len(base_layers)] == base_layers
        added = image["Size"] - (base["Size"] if on_base else 0)
        if added > self._settings.max_image_bytes:
            raise _too_large(
                f"the image holds {added:,} bytes" + (" beyond the base image" if on_base else ""), self._settings
            )
        if volumes := image["Config"].get("Volumes"):
            raise BuildRefusal(
                f"the Dockerfile (or its base) declares VOLUME {', '.join(sorted(volumes))}: writable disk",
                fix="remove VOLUME; /tmp is the place to write to in a match",
            )
        return image

    def _watch(self) -> Watch:
        settings = self._settings
        deadline = time.monotonic() + settings.seconds
        disk = self._docker.root_directory()
        # of a disk that had room when the build began, what is left at the end is no host's cause
        floor = max(shutil.disk_usage(disk).free - 2 * settings.max_image_bytes, LEAST_FREE_BYTES // 2) if disk else 0

        def watch() -> None:
            if time.monotonic() > deadline:
                raise SlowBuildRefusal(
                    f"the build took longer than {settings.seconds:g} s and was stopped",
                    fix="install less, or put what takes long into the repository ready-made",
                )
            # engines do not bound a running build, so a step that fills the disk is stopped here. Twice the limit,
            # because files that a later step deletes do not count in the end, and others use the disk, too
            if disk and shutil.disk_usage(disk).free < floor:
                raise _too_large("the build filled the engine's disk", settings)

        return watch

    @contextmanager
    def _removed_afterwards(self, name: str) -> Iterator[None]:
        try:
            yield
        finally:
            self._docker.remove(name)


def _too_large(what: str, settings: BuildSettings) -> BuildRefusal:
    return BuildRefusal(
        f"{what}, and {settings.max_image_bytes:,} bytes are allowed",
        fix="use what the base image already has, install less, and delete what only the build needed in the same step",
    )


@contextmanager
def _sdk_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gauntlet-sdk-") as directory:
        write_sdk_tree(Path(directory))
        yield Path(directory)
