"""Repositories of bundled submissions, assembled from files of their own and files that several share."""

from __future__ import annotations

import fcntl
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import ClassVar, TypeVar

from evaluation.builder.allowed_submission_files import TreeEntry, tree_entries
from evaluation.builder.tree_digest import digest_of_files, tree_digest
from evaluation.domain.errors import BuildRefusal, Refusal
from evaluation.sandbox.state_directory import state_directory

FOLDER = Path(__file__).resolve().parent

DIGITS = "digits"
"""The name of the data set that comes with Gauntlet, as in `--dataset`."""

LICENCE = {"LICENSE": "shared/LICENSE"}

_PROGRAM_SUFFIX = ".sh"
_PROGRAM_MODE = 0o755


@dataclass(frozen=True)
class BundledRepository(ABC):
    """The repository of one bundled submission."""

    name: str
    track: str
    """The name of the track that it is for."""

    format: ClassVar[str]
    """The format that it is for, as in `--format`."""
    manifest: ClassVar[str]
    """The name of its manifest."""

    @property
    def origin(self) -> str:
        """What a copy of it began as."""
        return f"the bundled submission `{self.name}`"

    @property
    @abstractmethod
    def source(self) -> Path:
        """The folder of the files that are its own."""

    @property
    @abstractmethod
    def parts(self) -> Mapping[str, str]:
        """The files that it shares, besides the licence: name in its repository to path below `FOLDER`."""

    @property
    @abstractmethod
    def data_sets(self) -> tuple[str, ...]:
        """The data sets on whose images it works, as in `--dataset`; empty if it works on any images."""

    @abstractmethod
    def package_missing_for(self, data_set: str) -> str:
        """Return the package that it needs for images of `data_set` and this interpreter lacks, or ""."""

    def accuracy_on(self, data_set: str) -> float | None:
        """Return the share of validation images of `data_set` that it labels right, by the report of its training.

        None if it was not trained on that data set, or is no model.
        """
        report = self.source / "training.json"
        measured = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}
        found = measured.get("validation_accuracy")
        return float(found) if found is not None and measured.get("settings", {}).get("dataset") == data_set else None

    @property
    def training(self) -> str:
        """What its weights were trained on, for how long and how well, as sentences; "" without a report of it."""
        report = self.source / "training.json"
        if not report.is_file():
            return ""
        told = json.loads(report.read_text(encoding="utf-8"))
        of = {**told, **told.get("settings", {})}
        length = f"{of['epochs']} epochs" if "epochs" in of else f"{of['iterations']} iterations"
        text = f"The weights were trained on {of['dataset']} (recipe {of['recipe']}, {length}, seed {of['seed']})."
        shares = [
            f"{told[f'{part}_accuracy']:.1%} of the {part.replace('train', 'training')} images"
            for part in ("train", "validation")
            if told.get(f"{part}_accuracy") is not None
        ]
        return f"{text} They label {' and '.join(shares)} right." if shares else text

    @cached_property
    def digest(self) -> str:
        """The digest of its repository's tree (see `tree_digest`); its files do not change while this process lives."""
        return digest_of_files(self._files())

    def assemble(self, into: Path) -> None:
        """Write its repository into the directory `into`, created if necessary."""
        for entry, content in self._files().items():
            (into / entry.path).parent.mkdir(parents=True, exist_ok=True)
            # the bytes alone: an installation may be read-only, its copy is not
            shutil.copyfile(content, into / entry.path)
            if entry.executable:
                (into / entry.path).chmod(_PROGRAM_MODE)

    def repository(self) -> Path:
        """Return its repository on this host, assembled by the first process of this user that needs it.

        Each version has its own directory, named after the submission. It is written again if anything in it changed.
        """
        digest = self.digest
        versions = state_directory("baselines")
        target = versions / digest.removeprefix("sha256:")[:16] / self.name
        if not _contains(target, digest):
            with (versions / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not _contains(target, digest):  # no other process wrote it meanwhile
                    shutil.rmtree(target, ignore_errors=True)
                    self.assemble(target)
        return target

    def _files(self) -> dict[TreeEntry, Path]:
        """Return the place of each file's content by its entry in the repository; shell scripts are programs."""
        shared = {PurePosixPath(path): FOLDER / part for path, part in {**LICENCE, **self.parts}.items()}
        own = {entry.path: self.source / entry.path for entry in tree_entries(self.source)}
        return {
            TreeEntry(path, executable=path.suffix == _PROGRAM_SUFFIX): place for path, place in (shared | own).items()
        }


def _contains(directory: Path, digest: str) -> bool:
    try:
        return tree_digest(directory) == digest
    except (BuildRefusal, OSError):  # missing, or being written by another process
        return False


_Bundled = TypeVar("_Bundled", bound=BundledRepository)


def named(repositories: Iterable[_Bundled], name: str) -> _Bundled:
    """Return the one of `repositories` that is called `name`. Raise `Refusal` if there is none."""
    found = next((each for each in repositories if each.name == name), None)
    if found is None:
        raise Refusal(f"no bundled submission is called {name!r}", fix="run `gauntlet baselines` to list them")
    return found
