"""The directory of a released round: what `gauntlet fetch` writes and `gauntlet replay` reads."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from evaluation.cli.public_key_value import given_key
from evaluation.domain.errors import Refusal, ReplayRefusal

BUNDLE, IMAGES, KEY = "bundle.gauntlet", "images.zip", "signing-key.txt"
PERTURBED, OBJECTIONS = "perturbed.csv", "objections.jsonl"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "http:https",
}
"""Nothing of the user's own configuration: a filter or a line ending would change the files."""


_SETTINGS = (
    *("-c", f"core.hooksPath={os.devnull}", "-c", "http.followRedirects=false"),
    # a site that sends less than a kilobyte a second for a minute does not answer
    *("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60"),
)


@dataclass(frozen=True)
class ReleasedRound:
    """A directory with the released parts of one round."""

    directory: Path

    @property
    def images(self) -> Path:
        """The archive of the images. Raise `ReplayRefusal` if it is not there."""
        path = self.directory / IMAGES
        if not path.is_file():
            raise ReplayRefusal(
                f"{path} is missing: the samples are secret until the organisers release the images",
                fix="run `gauntlet fetch` again once they are released; `--images` says whether they are",
            )
        return path

    def perturbed(self, number: str) -> Path:
        """Return where the archive of the perturbed images of a row of the table is, whether it is there or not."""
        return self.directory / "perturbed" / f"{number}.zip"

    def archives(self) -> list[Path]:
        """Return the archives of perturbed images that are there."""
        return sorted((self.directory / "perturbed").glob("*.zip"))

    def code(self, team: str, track: str) -> Path:
        """Return where the code of a team is. Raise `Refusal` for names that are none: they come from a site."""
        if not _NAME.fullmatch(team) or not _NAME.fullmatch(track):
            raise Refusal(f"{team[:100]!r} and {track[:100]!r} name no team and track", fix="tell the organisers")
        return self.directory / "code" / f"{team}--{track}"

    def key(self, given: str | None) -> str | None:
        """Return the public key that was given or fetched, None without one."""
        path = self.directory / KEY
        return given_key(given) if given else given_key(str(path)) if path.is_file() else None

    def open_bundle(self) -> IO[bytes]:
        """Return the open bundle. Raise `Refusal` if it is not there."""
        try:
            return (self.directory / BUNDLE).open("rb")
        except OSError as error:
            raise Refusal(
                f"{self.directory / BUNDLE} is not readable: {error.strerror}",
                fix="fetch the round with `gauntlet fetch ROUND --into DIR`, and name DIR with --from",
            ) from None


def open_images(of: ReleasedRound, opened: ExitStack) -> list[tuple[str, IO[bytes]]]:
    """Return the open archive of the images with its name, if it is there; `opened` closes it."""
    path = of.directory / IMAGES
    return [(str(path), opened.enter_context(path.open("rb")))] if path.is_file() else []


def require_commit(commit: str) -> str:
    """Return the name of a commit. Raise `Refusal` for text that is none and could be an option of git."""
    if not _COMMIT.fullmatch(commit):
        raise Refusal(f"{commit[:100]!r} is not a commit", fix="tell the organisers")
    return commit


def git(folder: Path, *words: str, most_bytes: int | None = None, variables: Mapping[str, str] | None = None) -> str:
    """Return what git prints in `folder`, which may hold code of strangers. Raise `Refusal` if it fails.

    No file that it writes is larger than `most_bytes`.
    """
    done = subprocess.run(
        ["git", *_SETTINGS, *words],
        cwd=folder,
        env=os.environ | _GIT | dict(variables or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        preexec_fn=None if most_bytes is None else _limit_of_files(most_bytes),
    )
    if done.returncode:
        raise Refusal(f"git {words[0]} failed: {done.stderr.strip() or done.returncode}", fix="see the message of git")
    return done.stdout.strip()


def _limit_of_files(most_bytes: int) -> Callable[[], None]:
    import resource  # not on Windows

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))


def holds(repository: Path, commit: str) -> bool:
    """Return True if `repository` is a copy that holds this commit."""
    try:
        return git(repository, "cat-file", "-t", require_commit(commit)) == "commit"
    except (Refusal, OSError):
        return False


def export(repository: Path, commit: str, into: Path) -> None:
    """Write the files of a commit into the new directory `into`, whatever the working copy holds. Raise `Refusal`."""
    into.mkdir()
    index = {"GIT_INDEX_FILE": f"{into}.index"}
    git(repository, f"--work-tree={into}", "checkout", "--force", require_commit(commit), "--", ".", variables=index)
