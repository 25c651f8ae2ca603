"""Adapter: the model that attacks are run against in the smoke test."""

from __future__ import annotations

import io
import stat
import tarfile
import tempfile
from pathlib import Path

from competitions.bundled_baselines import bundled
from competitions.models import Competition
from competitions.sample_store import samples_of
from competitions.selectors import development_set
from core import object_store
from core.errors import Fault, Refusal
from evaluation.builder.manifest import read_manifest
from evaluation.builder.source_tree import tree_entries
from evaluation.domain.players import TrackName
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.smoke_opponent import SmokeOpponent, nearest_mean_opponent
from formats.query.tracks import MODEL

DIGITS = "digits"
"""Source of the sample sets that the bundled models classify."""
DIGITS_MODEL = "numpy-classifier"
"""The bundled model that starts fastest."""


def opponent_name(competition: Competition) -> str:
    """Return the bundled model or directory used in the smoke test.

    Empty for a nearest-mean model of the development samples.
    """
    if competition.smoke_opponent:
        return competition.smoke_opponent
    return DIGITS_MODEL if development_set(competition).source == DIGITS else ""


def made_opponent(competition: Competition) -> SmokeOpponent:
    """Return the nearest-mean model of the development samples. Raise `Refusal` if they are not sufficient."""
    return nearest_mean_opponent(samples_of(development_set(competition)))


def keep_opponent(name: str) -> str:
    """Store the submission in the directory `name` and return its digest; return "" for a bundled model.

    Raise `Refusal` if it is neither, is not a submission to the model track, or needs a GPU.
    """
    if name in bundled(QueryRules.format, MODEL):
        return ""
    source = Path(name).expanduser()
    if not source.is_dir():
        raise Refusal(
            f"{name!r} is neither a bundled model nor a directory",
            fix=f"use one of {', '.join(bundled(QueryRules.format, MODEL))}, or a directory with a submission",
        )
    manifest = read_manifest(source)
    if manifest.track is not TrackName.MODEL:
        raise Refusal(
            f"{name} is a submission to the {manifest.track} track", fix="use a submission to the model track"
        )
    if manifest.gpu:
        raise Refusal(f"{name} needs a GPU, but not every builder has one", fix="use a model that runs without a GPU")
    return object_store.put(_packed(source))


def unpack_opponent(digest: str, target: Path) -> None:
    """Unpack a stored submission to `target` atomically, unless it exists."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".opponent-") as name:
        folder = Path(name) / "files"
        try:
            with tarfile.open(fileobj=io.BytesIO(object_store.get(digest))) as archive:
                archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
                archive.extractall(folder)  # noqa: S202 - `_packed` made the archive of files that were checked
        except (tarfile.TarError, OSError) as error:
            raise Fault(f"the opponent {digest} cannot be unpacked: {error}") from error
        try:
            folder.rename(target)
        except OSError:  # another process unpacked it first
            if not target.exists():
                raise


def _packed(source: Path) -> bytes:
    """Return the files as an archive; equal trees give equal bytes."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in tree_entries(source):
            info = tarfile.TarInfo(str(entry.path))
            info.mode = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH
            if entry.executable:
                info.mode |= stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
            if entry.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
                archive.addfile(info)
            else:
                content = (source / entry.path).read_bytes()
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return file.getvalue()
