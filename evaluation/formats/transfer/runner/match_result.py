"""Result of a match of the transfer format: all batches of both phases, and the counts that scores are made of."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from evaluation.formats.transfer.results import NO_LABEL, AttackBatch, DefenceBatch, PairCounts
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.batches import Batch
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.formats.transfer.scoring.score_intervals import (
    PairImages,
    pair_images,
    score_intervals,
    score_ranks,
    with_intervals,
)
from evaluation.formats.transfer.scoring.scores import TransferStanding, standings
from evaluation.formats.transfer.scoring.success_and_error_tables import AttackDefenceMatrix, GivenLabels, matrices


@dataclass(frozen=True, eq=False)
class TransferResult:
    """Every batch of every player. A batch of which an attack made nothing was given to no defence."""

    rules: TransferRules
    attacks: tuple[TransferPlayer, ...]
    defences: tuple[TransferPlayer, ...]
    batches: tuple[Batch, ...]
    made: tuple[AttackBatch, ...]
    labelled: tuple[DefenceBatch, ...]

    @property
    def epsilons(self) -> list[int]:
        """The epsilons of its batches, ascending."""
        return sorted({batch.epsilon for batch in self.batches})

    @property
    def images(self) -> int:
        """The number of its images."""
        return sum(len(batch.samples) for batch in self.batches)

    def pairs(self, epsilon: int | None = None) -> list[PairCounts]:
        """Return the counts of every attack against every defence, over all batches or over those of one epsilon."""
        batches = [batch for batch in self.batches if epsilon in (None, batch.epsilon)]
        made = {(part.attack, part.batch): part for part in self.made}
        labelled = {(part.attack, part.defence, part.batch): part for part in self.labelled}
        return [
            _count(attack, defence, batches, made, labelled) for attack in self.attacks for defence in self.defences
        ]

    def pairs_by_epsilon(self) -> dict[int, list[PairCounts]]:
        """Return the counts of every pair at each epsilon."""
        return {epsilon: self.pairs(epsilon) for epsilon in self.epsilons}

    def matrices(self) -> list[AttackDefenceMatrix]:
        """Return attacks against defences by epsilon, and over all of several; the best of each side first."""
        return matrices(
            self.pairs_by_epsilon(),
            attacks=[
                row.name for track in (TransferTrack.ATTACK, TransferTrack.TARGETED_ATTACK) for row in self.board(track)
            ],
            defences=[row.name for row in self.board(TransferTrack.DEFENCE)],
        )

    def board(self, track: TransferTrack) -> list[TransferStanding]:
        """Return the standings of a track, with their intervals."""
        opponents = self.rules.opponents
        rows = standings(self.pairs(), track, opponents=opponents, seconds=self.seconds())
        epsilons = [batch.epsilon for batch in self.batches for _ in batch.samples]
        intervals = score_intervals(self._pair_images, rows, epsilons=epsilons, opponents=opponents)
        scores = {row.name: row.score for row in rows if row.score is not None}
        return with_intervals(rows, intervals, score_ranks(scores, intervals))

    @cached_property
    def _pair_images(self) -> list[PairImages]:
        """Every attack against every defence, image by image."""
        made = {(part.attack, part.batch): part.made for part in self.made}
        given = {(part.attack, part.defence, part.batch): part.labels for part in self.labelled}
        samples = [sample for batch in self.batches for sample in batch.samples]
        return [
            pair_images(
                attack.name,
                defence.name,
                targeted=attack.track is TransferTrack.TARGETED_ATTACK,
                made=[bool(each) for batch in self.batches for each in made[attack.name, batch.number]],
                labels=[
                    int(label)
                    for batch in self.batches
                    for label in given.get((attack.name, defence.name, batch.number), (NO_LABEL,) * len(batch.samples))
                ],
                truth=[sample.label for sample in samples],
                targets=[sample.target for sample in samples],
            )
            for attack in self.attacks
            for defence in self.defences
        ]

    def given_labels(self) -> list[GivenLabels]:
        """Return the labels of every batch beside the true ones."""
        truth = {batch.number: [sample.label for sample in batch.samples] for batch in self.batches}
        return [GivenLabels(part.defence, part.labels.tolist(), truth[part.batch]) for part in self.labelled]

    def seconds(self) -> dict[str, list[float]]:
        """Return the seconds of each submission's batches."""
        found: dict[str, list[float]] = defaultdict(list)
        for part in self.made:
            found[part.attack].append(part.run.seconds)
        for labels in self.labelled:
            found[labels.defence].append(labels.run.seconds)
        return dict(found)


def _count(
    attack: TransferPlayer,
    defence: TransferPlayer,
    batches: list[Batch],
    made: dict[tuple[str, int], AttackBatch],
    labelled: dict[tuple[str, str, int], DefenceBatch],
) -> PairCounts:
    targeted = attack.track is TransferTrack.TARGETED_ATTACK
    count = correct = hits = answers = 0
    for batch in batches:
        count += int(made[attack.name, batch.number].made.sum())
        answer = labelled.get((attack.name, defence.name, batch.number))
        if answer is None:
            continue
        answers += int((answer.labels != NO_LABEL).sum())
        correct += int((answer.labels == [sample.label for sample in batch.samples]).sum())
        if targeted:
            hits += int((answer.labels == [sample.target for sample in batch.samples]).sum())
    return PairCounts(
        attack=attack.name,
        defence=defence.name,
        targeted=targeted,
        images=sum(len(batch.samples) for batch in batches),
        made=count,
        labelled=answers,
        correct=correct,
        hits=hits,
    )
