"""Builders that also build submissions of 2018: in place for the process sandbox, and as images."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

from evaluation.builder.allowed_submission_files import BINDER_DIRECTORIES, IGNORED_NAMES
from evaluation.builder.base import Builder, LogLine
from evaluation.builder.build_folder import build_folder
from evaluation.builder.build_pack_detection import CONFIGURATION_FILES
from evaluation.builder.choose_builder import choose_builder
from evaluation.builder.docker_build_settings import BuildSettings, build_settings_from_environment
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.installed_layer_cache import InstalledLayerCache
from evaluation.builder.layer_store import LayerStore
from evaluation.builder.manifest import MANIFEST_NAME
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import HostRefusal
from evaluation.domain.players import QueryPlayer
from evaluation.formats.query.submissions_2018.manifest_2018 import FILE_NAME, Submission2018, is_2018, read_submission
from evaluation.formats.query.submissions_2018.plan_2018 import plan_2018
from evaluation.formats.query.submissions_2018.program_check import MODULES_FOLDER
from evaluation.legacy.environment import VARIABLE, LegacyEnvironment, legacy_environment, legacy_image
from evaluation.legacy.licence_file import UNKNOWN
from evaluation.legacy.player_modules import PLAYER_MODULES, START

_NO_LICENCE = "LicenseRef-scancode-unknown"
"""An expression of SPDX for the manifest of an image; a build does not use it."""


class LegacyBuilder(Builder):
    """Makes players of checkouts of 2018 for the process sandbox; any other submission goes to the usual builder."""

    def __init__(self, usual: Builder, environment: LegacyEnvironment | None) -> None:
        """Take the legacy environment of this host; None if it has none."""
        self._usual = usual
        self._environment = environment

    def build(self, source: Path, *, on_log: LogLine) -> QueryPlayer:
        """Return the checkout `source` as a player; everything that is replaced is a line of the log."""
        if not is_2018(source):
            return self._usual.build(source, on_log=on_log)
        environment = require_environment(self._environment)
        submission = _checked(source, environment, on_log)
        modules = PLAYER_MODULES.kept()
        parts = (tree_digest(source), environment.digest(), PLAYER_MODULES.digest())
        return QueryPlayer(
            name=submission.title,
            track=submission.track,
            command=(str(environment.python), "-u", str(modules / START), str(submission.track.side)),
            digest=f"sha256:{hashlib.sha256(' '.join(parts).encode()).hexdigest()}",
            directory=source.resolve(),
            readable=(modules, *environment.readable()),
        )

    def check_host(self) -> None:
        self._usual.check_host()


class LegacyDockerBuilder(DockerBuilder):
    """Builds images: submissions of 2018 on the legacy image, all others on the base image."""

    def __init__(
        self,
        settings: BuildSettings,
        *,
        store: LayerStore | None,
        cache: InstalledLayerCache | None,
        environment: LegacyEnvironment | None,
        image: str,
    ) -> None:
        """Take the legacy environment of this host, of which the legacy image `image` was made."""
        super().__init__(settings, store=store, cache=cache)
        self._environment = environment
        self._image = image
        self._on_legacy_image = DockerBuilder(replace(settings, base_image=image), store=store)

    def build(self, source: Path, *, on_log: LogLine) -> QueryPlayer:
        """Build the submission in `source`; see `LegacyBuilder.build` for those of 2018."""
        if not is_2018(source):
            return super().build(source, on_log=on_log)
        submission = _checked(source, require_environment(self._environment), on_log)
        if not self.has(self._image):
            raise HostRefusal(
                f"{FILE_NAME}: a submission of 2018 needs the image {self._image}, which this host does not have",
                fix=f"an operator runs `make legacy-image`; or add a {MANIFEST_NAME}",
            )
        with build_folder() as folder:
            write_image_source(source, submission, folder / "source")
            player = self._on_legacy_image.build(folder / "source", on_log=on_log)
        # with the layers of the legacy image: to `fetch`, those of the base image alone are known
        self._on_legacy_image.keep(str(player.image))
        return player


def write_image_source(source: Path, submission: Submission2018, target: Path) -> None:
    """Write the files of a submission of 2018 as a submission of today, for the legacy image.

    Its configuration files are left out, since the image has what they ask for; the arena's modules are added.
    """
    left_out = {*BINDER_DIRECTORIES, *(name for name in CONFIGURATION_FILES if "/" not in name)}

    def ignored(folder: str, names: list[str]) -> set[str]:
        here = left_out if Path(folder) == source else set()
        return {name for name in names if name in IGNORED_NAMES or name in here}

    shutil.copytree(source, target, symlinks=True, ignore=ignored)
    PLAYER_MODULES.write(target / MODULES_FOLDER)
    run = f"python3 -u {MODULES_FOLDER}/{START} {submission.track.side}"
    licence = _NO_LICENCE if submission.licence == UNKNOWN else submission.licence
    values = {"track": submission.track, "run": run, "title": submission.title, "licence": licence}
    lines = [f"{key} = {json.dumps(str(value), ensure_ascii=False)}\n" for key, value in values.items()]
    (target / MANIFEST_NAME).write_text("".join(["[submission]\n", *lines]), encoding="utf-8")


def require_environment(environment: LegacyEnvironment | None) -> LegacyEnvironment:
    """Return the legacy environment. Raise `HostRefusal` if this host has none."""
    if environment is None:
        raise HostRefusal(
            f"{FILE_NAME}: a submission of 2018 needs the legacy environment, which this host does not have",
            fix=f"an operator runs `gauntlet legacy-environment DIR` and sets {VARIABLE}=DIR; or add a {MANIFEST_NAME}",
        )
    return environment


def any_year_builder(
    sandbox_name: str, store: LayerStore | None = None, cache: InstalledLayerCache | None = None
) -> Builder:
    """Return the builder for a sandbox, for submissions of any year; arguments and errors of `choose_builder`."""
    if sandbox_name == "docker":
        settings, environment = build_settings_from_environment(), legacy_environment()
        return LegacyDockerBuilder(settings, store=store, cache=cache, environment=environment, image=legacy_image())
    return LegacyBuilder(choose_builder(sandbox_name, store), legacy_environment())


def _checked(source: Path, environment: LegacyEnvironment, on_log: LogLine) -> Submission2018:
    """Read and check a submission of 2018; say what is replaced, and its licence."""
    submission = read_submission(source)
    for replacement in plan_2018(source, environment):
        on_log(str(replacement))
    unknown = submission.licence == UNKNOWN
    licence = "unknown, so it is not eligible for a final" if unknown else submission.licence
    on_log(f"a submission of 2018: {submission.track} track, licence {licence}")
    return submission
