"""Adapter: plays runs of the transfer format with the engine, and computes scores."""

from __future__ import annotations

import io
import logging
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Picture

from competitions.models import RulesVersion, SampleSet
from competitions.sample_store import samples_of
from core import object_store
from core.errors import Fault
from evaluation.domain.images import Image
from evaluation.formats.transfer.results import NO_LABEL, AttackBatch, BatchRun, DefenceBatch, ImageNote, PairCounts
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash
from evaluation.formats.transfer.runner.batch_in_sandbox import RunEnvironment
from evaluation.formats.transfer.runner.batch_runner import BatchRunner
from evaluation.formats.transfer.runner.batches import Batch, batch_sizes, make_batches, png
from evaluation.formats.transfer.runner.repeated_images import (
    LabelledImages,
    count_changes,
    file_names,
    repeats_due,
)
from evaluation.formats.transfer.runner.resource_limits import resources
from evaluation.formats.transfer.runner.run_directories import sweep_workspaces
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.formats.transfer.scoring.scores import TransferStanding, standings
from formats.transfer.tournaments.models import AttackRun, DefenceRun, RepeatRun, Tournament
from formats.transfer.tournaments.player_builds import ready_player
from submissions.models import Player
from submissions.secret_seeds import secret_seed
from workers import host_comparisons
from workers.calibration import calibration, require_steady
from workers.models import HostComparison
from workers.sandboxes import open_sandbox
from workers.slot_device import device_of, slot
from workers.worker_name import host_of

__all__ = ["NO_LABEL", "LabelledImages", "PairCounts", "TransferStanding", "TransferTrack", "repeats_due"]

log = logging.getLogger(__name__)

_MARGIN = timedelta(hours=1)
_NOWHERE = Path("/nonexistent")


def tournament_seed(rules: RulesVersion, sample_set: SampleSet) -> int:
    """Return the seed of a tournament: 63 bits that follow from the competition's secret salt."""
    return secret_seed(rules.competition, "tournament", rules.values, rules.version, sample_set.digest)


def rules_of(tournament: Tournament) -> TransferRules:
    """Return the rules of a tournament as the engine reads them."""
    return tournament.rules.rules_as(TransferRules)


def batches_of(tournament: Tournament) -> tuple[Batch, ...]:
    """Return the batches of a tournament."""
    return make_batches(samples_of(tournament.sample_set), rules_of(tournament), tournament.seed)


def sizes_of(tournament: Tournament) -> list[tuple[int, int]]:
    """Return the epsilon and the number of images of each batch of a tournament, without reading its images."""
    return batch_sizes(tournament.sample_set.count, rules_of(tournament), tournament.seed)


def place_of(tournament: Tournament, sample: int) -> tuple[int, int]:
    """Return the batch of a sample of the tournament's set, and its index in it."""
    return divmod(sample, rules_of(tournament).batch_images)


def longest(tournament: Tournament) -> timedelta:
    """Return the maximum time that a worker may hold a run; beyond it the worker hangs."""
    return timedelta(seconds=2 * rules_of(tournament).batch_seconds * calibration()) + _MARGIN


def remove_leftovers() -> None:
    """Remove the directories of runs of dead workers of this host; they hold secret samples."""
    sweep_workspaces(open_sandbox())


def play(run: AttackRun | DefenceRun | RepeatRun, stop: threading.Event) -> dict[str, Any]:
    """Play a run; return the columns of its result. Platform errors are raised.

    Raise `StoppedError` once `stop` is set while its submission runs.
    """
    if isinstance(run, AttackRun):
        return play_attack(run, stop)
    return play_defence(run, stop) if isinstance(run, DefenceRun) else play_repeat(run, stop)


def play_attack(run: AttackRun, stop: threading.Event) -> dict[str, Any]:
    """Play an attack on its batch and store its images; return the columns of the result.

    Errors of the submission are in the result; platform errors are raised.
    """
    tournament = run.tournament
    batch = batches_of(tournament)[run.batch]
    made = _runner(tournament, run.attack, stop).attack(ready_player(run.attack, log.debug), batch)
    return _columns(made.run, run.attack) | {
        "made": int(made.made.sum()),
        "hashes": list(made.hashes),
        "notes": {str(note): made.count(note) for note in ImageNote if made.count(note)},
        "artefact": object_store.put(pack(made)),
    }


def play_defence(run: DefenceRun, stop: threading.Event) -> dict[str, Any]:
    """Let a defence label the stored images of an attack run; return the columns of the result, as `play_attack`."""
    attack_run = run.attack_run
    tournament = attack_run.tournament
    batch = batches_of(tournament)[attack_run.batch]
    attack = _named(attack_run)
    runner = _runner(tournament, run.defence, stop)
    labels = runner.defence(ready_player(run.defence, log.debug), attack, batch, unpack(attack_run, batch))
    return _columns(labels.run, run.defence) | _counts(
        labels, batch, targeted=attack.track is TransferTrack.TARGETED_ATTACK
    )


def play_repeat(run: RepeatRun, stop: threading.Event) -> dict[str, Any]:
    """Let a defence label images again that it labelled in several runs; return the columns of the result."""
    tournament = run.tournament
    batches = batches_of(tournament)
    keys = {key for key, _ in run.images}
    original = {each.pk: each for each in DefenceRun.objects.filter(pk__in=keys).select_related("attack_run")}
    wanted: dict[int, list[int]] = {}
    for key, index in run.images:
        wanted.setdefault(key, []).append(index)
    stored = {
        (key, index): image
        for key, indices in wanted.items()
        for index, image in stored_images(original[key].attack_run, indices)
    }
    names = file_names(len(run.images), (tournament.seed, run.defence.digest, run.number))
    images = np.stack([stored[key, index] for key, index in run.images])
    labels, _, ran = _runner(tournament, run.defence, stop).label(ready_player(run.defence, log.debug), names, images)
    before = [original[key].labels[index] for key, index in run.images]
    truth = [batches[original[key].attack_run.batch].samples[index].label for key, index in run.images]
    counts = count_changes(np.array(before, np.int16), labels, np.array(truth, np.int16))
    return _columns(ran, run.defence) | {
        "labels": labels.tolist(),
        "changed": counts.changed,
        "lost": counts.lost,
        "gained": counts.gained,
    }


def comparisons(run: RepeatRun, labels: Sequence[int], host: str) -> list[HostComparison]:
    """Return what a repeated run on `host` says of the hosts that labelled its images before, one row for each.

    An image without a label in one of the two runs says nothing.
    """
    before = {each.pk: each for each in DefenceRun.objects.filter(pk__in={key for key, _ in run.images})}
    results = []
    for (key, index), now in zip(run.images, labels, strict=True):
        label = before[key].labels[index]
        if NO_LABEL not in (label, now):
            results.append((host_of(before[key].worker), 1, int(label != now)))
    defence = run.defence
    return host_comparisons.sums(
        results,
        subject=run,
        player=defence.digest,
        entry=defence.repository.entry if defence.repository is not None and not defence.baseline else None,
        repeated_on=host,
    )


def standings_of(
    pairs: Sequence[PairCounts], tournament: Tournament, seconds: Mapping[str, Sequence[float]]
) -> list[TransferStanding]:
    """Return the standings of all tracks. Players are named by their keys."""
    opponents = rules_of(tournament).opponents
    return [row for track in TransferTrack for row in standings(pairs, track, opponents=opponents, seconds=seconds)]


def pack(made: AttackBatch) -> bytes:
    """Return the images that an attack made as a zip of PNG files; equal images give equal bytes at any time."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for index in np.flatnonzero(made.made):
            archive.writestr(zipfile.ZipInfo(_name(int(index))), png(made.images[index]))  # a ZipInfo stores no time
    return file.getvalue()


def unpack(run: AttackRun, batch: Batch) -> AttackBatch:
    """Return what a played attack run made. Raise `Fault` if a stored image is missing or another one."""
    images = np.zeros_like(batch.images)
    for index, image in stored_images(run, [index for index, made in enumerate(run.hashes) if made]):
        images[index] = image
    return AttackBatch(
        attack=run.attack.title,
        batch=batch.number,
        epsilon=batch.epsilon,
        images=images,
        made=np.array([bool(each) for each in run.hashes]),
        hashes=tuple(run.hashes),
        notes=((),) * len(run.hashes),
        run=BatchRun(run.seconds or 0.0),
    )


def stored_images(run: AttackRun, indices: Iterable[int]) -> Iterator[tuple[int, Image]]:
    """Yield some images that a played attack run made, without reading the others.

    Raise `Fault` if one is missing or another one.
    """
    with object_store.open_object(run.artefact) as file:
        try:
            archive = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise Fault(f"the stored images of {run} cannot be read: {error}") from error
        for index in indices:
            image = _image(archive, _name(index))
            if pixel_hash(image) != run.hashes[index]:
                raise Fault(f"image {index} of {run} is not the one that was stored")
            yield index, image


def _image(archive: zipfile.ZipFile, name: str) -> Image:
    try:
        with Picture.open(io.BytesIO(archive.read(name)), formats=("PNG",)) as picture:
            return np.asarray(picture.convert("RGB"))
    except (KeyError, OSError, zipfile.BadZipFile) as error:
        raise Fault(f"the stored image {name} cannot be read: {error}") from error


def _runner(tournament: Tournament, player: Player, stop: threading.Event) -> BatchRunner:
    factor = calibration(gpu=player.gpu)
    stage = RunEnvironment(open_sandbox(), resources(device_of(slot())), factor, stop)
    return BatchRunner(rules_of(tournament), stage, tournament.seed, _log)


def _log(player: TransferPlayer, text: str) -> None:
    log.debug("%s: %s", player.name, text)


def _named(run: AttackRun) -> TransferPlayer:
    """Return the attack of a run by its digest, without its files: they are not needed to name its images."""
    return TransferPlayer(
        name=run.attack.title,
        track=TransferTrack(run.attack.track_name),
        entry_point=run.attack.command[0],
        digest=run.attack.digest,
        source=_NOWHERE,
    )


def _columns(run: BatchRun, player: Player) -> dict[str, Any]:
    """Return the columns of every run. Raise `HostFault` if this host slowed a run down too much."""
    factor = calibration(gpu=player.gpu)
    require_steady(factor, run.reason or "", gpu=player.gpu)
    return {
        "seconds": run.seconds,
        "calibration": factor,
        "reason": str(run.reason or ""),
        "detail": run.detail[:300],
    }


def _counts(labels: DefenceBatch, batch: Batch, *, targeted: bool) -> dict[str, Any]:
    return {
        "labelled": int((labels.labels != NO_LABEL).sum()),
        "correct": int((labels.labels == [sample.label for sample in batch.samples]).sum()),
        "hits": int((labels.labels == [sample.target for sample in batch.samples]).sum()) if targeted else 0,
        "labels": labels.labels.tolist(),
        "rows": {str(note): count for note, count in labels.rows.items() if count},
    }


def _name(index: int) -> str:
    return f"{index:05}.png"
