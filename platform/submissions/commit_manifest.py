"""Adapter: the manifest `submission.toml` of a commit, read before anything is built."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import Refusal
from evaluation.builder.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    Manifest,
    irregular_manifest,
    missing_manifest,
    parse_within_limits,
)
from repositories.git_reader import GitReader, TreeFile
from submissions.build_plans import PLAIN_FILES
from workers.selectors import gpu_worker_is_live


def manifest_of(commit: str, files: Sequence[TreeFile], reader: GitReader) -> Manifest:
    """Return the manifest of a commit with `files`. Raise `Refusal` without a valid one."""
    file = next((file for file in files if file.path == MANIFEST_NAME), None)
    if file is None:
        raise missing_manifest(f"commit {commit[:7]}")
    if file.mode not in PLAIN_FILES:
        raise irregular_manifest()
    return parse_within_limits(reader.content(file.object, MAX_MANIFEST_BYTES + 1))


def missing_gpu(manifest: Manifest) -> Refusal | None:
    """Return the error of a manifest that asks for a GPU while no worker has one: its build would be useless."""
    if not manifest.gpu or gpu_worker_is_live():
        return None
    return Refusal(
        f"{MANIFEST_NAME} says gpu = true, and no worker with a GPU is running now",
        fix="write gpu = false if a CPU is enough, or push again when the Status page shows a GPU worker",
    )
