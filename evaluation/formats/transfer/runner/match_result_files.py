"""Files of a match of the transfer format: `result.json`, the toolkit's CSV files, and one row for each label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluation.formats.transfer.results import NO_LABEL, AttackBatch, DefenceBatch, ImageNote
from evaluation.formats.transfer.rules import FIRST_LABEL, TransferTrack
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.toolkit_result_files import (
    ALL_CLASSIFICATION,
    ALL_CLASSIFICATION_COLUMNS,
    csv_bytes,
    toolkit_files,
)


def as_dict(result: TransferResult) -> dict[str, Any]:
    """Return the content of `result.json`."""
    return {
        "rules": result.rules.as_dict(),
        "players": [
            {"name": player.name, "track": str(player.track), "digest": player.digest}
            for player in (*result.attacks, *result.defences)
        ],
        "batches": [
            {"batch": batch.number, "epsilon": batch.epsilon, "samples": [sample.number for sample in batch.samples]}
            for batch in result.batches
        ],
        "standings": {str(track): [asdict(row) for row in result.board(track)] for track in TransferTrack},
        "pairs": [asdict(pair) for pair in result.pairs()],
        "pairs_by_epsilon": {
            str(epsilon): [asdict(pair) for pair in pairs] for epsilon, pairs in result.pairs_by_epsilon().items()
        },
        "attack_runs": [_attack_run(made) for made in result.made],
        "defence_runs": [_defence_run(labels) for labels in result.labelled],
    }


def write_files(result: TransferResult, directory: Path) -> None:
    """Write the files of a match to `directory`, next to the stored batches."""
    targeted = [player.name for player in result.attacks if player.track is TransferTrack.TARGETED_ATTACK]
    files = toolkit_files(
        result.pairs(),
        attacks=[player.name for player in result.attacks if player.name not in targeted],
        targeted=targeted,
        defences=[player.name for player in result.defences],
    )
    rows = _classifications(result, frozenset(targeted))
    files[ALL_CLASSIFICATION] = csv_bytes([ALL_CLASSIFICATION_COLUMNS, *rows])
    for name, content in files.items():
        (directory / name).write_bytes(content)
    # last: if it exists, all files are complete
    (directory / "result.json").write_text(json.dumps(as_dict(result), indent=1) + "\n", encoding="utf-8")


def _classifications(result: TransferResult, targeted: frozenset[str]) -> Iterator[tuple[object, ...]]:
    batches = {batch.number: batch for batch in result.batches}
    for labels in sorted(result.labelled, key=lambda labels: labels.defence):
        batch = batches[labels.batch]
        for name, sample, label in zip(batch.names, batch.samples, labels.labels.tolist(), strict=True):
            if label != NO_LABEL:
                target = "" if sample.target is None else sample.target + FIRST_LABEL
                yield (
                    *(labels.attack, labels.attack in targeted, labels.defence, sample.image_id or name),
                    *(label + FIRST_LABEL, sample.label + FIRST_LABEL, target),
                )


def _attack_run(made: AttackBatch) -> dict[str, Any]:
    notes = {str(note): made.count(note) for note in ImageNote if made.count(note)}
    return {
        "attack": made.attack,
        "batch": made.batch,
        "epsilon": made.epsilon,
        "made": int(made.made.sum()),
        "images": len(made.made),
        "hashes": made.hashes,
        "notes": notes,
        **_run(made),
    }


def _defence_run(labels: DefenceBatch) -> dict[str, Any]:
    return {
        "defence": labels.defence,
        "attack": labels.attack,
        "batch": labels.batch,
        "labelled": int((labels.labels != NO_LABEL).sum()),
        "rows": {str(note): count for note, count in labels.rows.items()},
        **_run(labels),
    }


def _run(batch: AttackBatch | DefenceBatch) -> Mapping[str, Any]:
    reason = batch.run.reason
    return {
        "seconds": round(batch.run.seconds, 3),
        "reason": str(reason) if reason else None,
        "detail": batch.run.detail,
    }
