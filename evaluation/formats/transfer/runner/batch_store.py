"""Store of played batches: what is in it is never played again, and never changes.

    attacks/KEY/batch.json, NAME.png ...    what an attack made of a batch, after clipping
    labels/KEY.json                         what a defence said of it

A key is the digest of everything that decides a batch. An entry appears under its name when it is complete; if two
runs of one batch end, the first one counts, so no defence ever sees another version of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Picture

from evaluation.domain.errors import Fault
from evaluation.formats.transfer.results import AttackBatch, BatchReason, BatchRun, DefenceBatch, ImageNote, RowNote
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash
from evaluation.formats.transfer.runner.batches import Batch, png

_RECORD = "batch.json"


class BatchStore:
    """Played batches below a directory of this host."""

    def __init__(self, root: Path) -> None:
        self._attacks, self._labels = root / "attacks", root / "labels"
        for directory in (self._attacks, self._labels):
            directory.mkdir(parents=True, exist_ok=True)

    def attack(self, key: str, batch: Batch, attack: str) -> AttackBatch | None:
        """Return what is stored under `key`, None if nothing is. Raise `Fault` if its images were changed."""
        directory = self._attacks / key
        if not (directory / _RECORD).exists():
            return None
        record = _read(directory / _RECORD)
        hashes = tuple(record["hashes"])
        images = np.zeros_like(batch.images)
        for index, (name, expected) in enumerate(zip(batch.names, hashes, strict=True)):
            if expected:
                with Picture.open(directory / f"{name}.png", formats=("PNG",)) as picture:
                    images[index] = np.asarray(picture.convert("RGB"))
                if pixel_hash(images[index]) != expected:
                    raise Fault(f"{directory / name}.png is not the image that was stored; remove {directory}")
        return AttackBatch(
            attack=attack,
            batch=batch.number,
            epsilon=batch.epsilon,
            images=images,
            made=np.array([bool(each) for each in hashes]),
            hashes=hashes,
            notes=tuple(tuple(map(ImageNote, notes)) for notes in record["notes"]),
            run=_run(record["run"]),
        )

    def keep_attack(self, key: str, batch: Batch, played: AttackBatch) -> AttackBatch:
        """Store `played` under `key`. Return what is stored: an earlier result, if there is one."""
        fresh = Path(tempfile.mkdtemp(dir=self._attacks, prefix=".unfinished-"))
        for name, image, made in zip(batch.names, played.images, played.made, strict=True):
            if made:
                (fresh / f"{name}.png").write_bytes(png(image))
        record = {
            "attack": played.attack,
            "batch": played.batch,
            "epsilon": played.epsilon,
            "run": asdict(played.run),
            "hashes": played.hashes,
            "notes": played.notes,
        }
        (fresh / _RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        fresh.chmod(0o755)
        try:
            fresh.rename(self._attacks / key)
        except OSError:  # it exists
            shutil.rmtree(fresh)
        stored = self.attack(key, batch, played.attack)
        if stored is None:
            raise Fault(f"cannot store a batch in {self._attacks}")
        return stored

    def labels(self, key: str, *, defence: str, attack: str, batch: int) -> DefenceBatch | None:
        """Return what is stored under `key`, None if nothing is."""
        path = self._labels / f"{key}.json"
        if not path.exists():
            return None
        record = _read(path)
        return DefenceBatch(
            defence=defence,
            attack=attack,
            batch=batch,
            labels=np.array(record["labels"], np.int16),
            rows={RowNote(note): count for note, count in record["rows"].items()},
            run=_run(record["run"]),
        )

    def keep_labels(self, key: str, played: DefenceBatch) -> DefenceBatch:
        """Store `played` under `key`. Return what is stored: an earlier result, if there is one."""
        path = self._labels / f"{key}.json"
        record = {
            "defence": played.defence,
            "attack": played.attack,
            "batch": played.batch,
            "run": asdict(played.run),
            "labels": played.labels.tolist(),
            "rows": played.rows,
        }
        with tempfile.NamedTemporaryFile("w", dir=self._labels, prefix=".unfinished-", encoding="utf-8") as fresh:
            fresh.write(json.dumps(record, indent=1) + "\n")
            fresh.flush()
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(fresh.name)
        stored = self.labels(key, defence=played.defence, attack=played.attack, batch=played.batch)
        if stored is None:
            raise Fault(f"cannot store labels in {self._labels}")
        return stored


def key_of(*parts: str) -> str:
    """Return the key of a batch that `parts` decide."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def images_digest(hashes: Sequence[str]) -> str:
    """Return the digest of the images that an attack made of a batch, from their hashes."""
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    try:
        loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Fault(f"{path} is damaged: {error}; remove it to play the batch again") from error
    return loaded


def _run(record: dict[str, Any]) -> BatchRun:
    reason = record["reason"]
    return BatchRun(record["seconds"], BatchReason(reason) if reason else None, record["detail"])
