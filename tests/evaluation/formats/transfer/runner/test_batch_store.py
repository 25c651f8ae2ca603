"""The store of played batches: the first result of a batch stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.results import AttackBatch, BatchReason, BatchRun, DefenceBatch, ImageNote, RowNote
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash
from evaluation.formats.transfer.runner.batch_store import BatchStore, key_of
from evaluation.formats.transfer.runner.batches import Batch, make_batches


@pytest.fixture
def batch(samples: list[Sample], rules: TransferRules) -> Batch:
    """The first batch."""
    return make_batches(samples, rules, 0)[0]


def made(batch: Batch, brighter: int) -> AttackBatch:
    """Return the result of an attack that made all images but the last, a little brighter."""
    images = np.clip(batch.images.astype(int) + brighter, 0, 255).astype(np.uint8)
    images[-1] = 0
    return AttackBatch(
        attack="any",
        batch=batch.number,
        epsilon=batch.epsilon,
        images=images,
        made=np.array([True, True, False]),
        hashes=(pixel_hash(images[0]), pixel_hash(images[1]), ""),
        notes=((), (ImageNote.CLIPPED, ImageNote.RESIZED), (ImageNote.MISSING,)),
        run=BatchRun(1.5, BatchReason.TOO_SLOW, "any detail"),
    )


def test_a_played_batch_is_read_back_as_it_was_kept(batch: Batch, tmp_path: Path) -> None:
    played = made(batch, 3)
    BatchStore(tmp_path).keep_attack("key", batch, played)
    stored = BatchStore(tmp_path).attack("key", batch, "any")
    assert stored is not None
    assert np.array_equal(stored.images, played.images)
    assert stored.made.tolist() == [True, True, False]
    assert (stored.hashes, stored.notes, stored.run) == (played.hashes, played.notes, played.run)


def test_the_first_of_two_results_stays(batch: Batch, tmp_path: Path) -> None:
    store = BatchStore(tmp_path)
    first = store.keep_attack("key", batch, made(batch, 1))
    second = store.keep_attack("key", batch, made(batch, 2))
    assert second.hashes == first.hashes != made(batch, 2).hashes
    labels = [DefenceBatch("d", "a", 0, np.array(row, np.int16), {}, BatchRun(1.0)) for row in ([1, 2], [3, 4])]
    assert [store.keep_labels("key", each).labels.tolist() for each in labels] == [[1, 2], [1, 2]]
    assert not list(tmp_path.rglob(".unfinished-*"))


def test_labels_are_kept_with_what_was_noticed(tmp_path: Path) -> None:
    store = BatchStore(tmp_path)
    run = BatchRun(2.0, BatchReason.CRASHED, "exit status 3")
    store.keep_labels("key", DefenceBatch("d", "a", 7, np.array([-1, 10], np.int16), {RowNote.SKIPPED: 2}, run))
    stored = store.labels("key", defence="renamed", attack="a", batch=7)
    assert stored is not None
    assert (stored.defence, stored.labels.tolist(), stored.rows, stored.run) == (
        *("renamed", [-1, 10]),
        *({RowNote.SKIPPED: 2}, run),
    )


def test_an_unknown_key_is_not_played(batch: Batch, tmp_path: Path) -> None:
    store = BatchStore(tmp_path)
    assert store.attack("key", batch, "any") is None
    assert store.labels("key", defence="d", attack="a", batch=0) is None


def test_it_rejects_a_damaged_record(batch: Batch, tmp_path: Path) -> None:
    store = BatchStore(tmp_path)
    store.keep_attack("key", batch, made(batch, 1))
    (tmp_path / "attacks" / "key" / "batch.json").write_text("{")
    with pytest.raises(Fault, match="remove it to play the batch again"):
        store.attack("key", batch, "any")


def test_keys_differ_if_any_part_differs() -> None:
    assert len({key_of("a", "b"), key_of("ab"), key_of("a", "b", ""), key_of("b", "a")}) == 4
