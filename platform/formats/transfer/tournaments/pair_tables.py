"""Adapter: what the engine's tables of the transfer format say about the pairs of a tournament."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.scoring import scores
from evaluation.formats.transfer.scoring import success_and_error_tables as transfer_tables
from evaluation.formats.transfer.scoring.success_and_error_tables import ClassErrors, GivenLabels
from formats.transfer.tournaments.engine_runs import batches_of, sizes_of
from formats.transfer.tournaments.models import DefenceRun, Run, Tournament
from formats.transfer.tournaments.selectors import counts_from_runs
from submissions.models import Player

__all__ = ["ClassErrors", "class_errors", "counts_by_epsilon", "share_of_points", "success", "success_interval"]


def success(pair: PairCounts) -> float | None:
    """Return the share of images with a point for the attack, those left out that the defence did not label."""
    return transfer_tables.success([pair])


def share_of_points(pair: PairCounts, *, defending: bool) -> float | None:
    """Return the share of images with a point for one side, as scores count it; None if no image counts."""
    share = scores.share_of_points(pair, defending=defending)
    return None if share is None else float(share)


def success_interval(pair: PairCounts) -> tuple[float, float] | None:
    """Return the 95 % interval of that share over images, None without any."""
    return transfer_tables.success_interval(pair)


def epsilons_of(tournament: Tournament) -> list[int]:
    """Return the epsilons of the batches of a tournament, ascending."""
    return sorted({epsilon for epsilon, _ in sizes_of(tournament)})


def counts_by_epsilon(tournament: Tournament, attack: Player, defence: Player) -> list[tuple[int, PairCounts]]:
    """Return the counts of a pair for each epsilon of which a batch is played, ascending."""
    found = [(each, counts_from_runs(tournament, [attack], [defence], each)) for each in epsilons_of(tournament)]
    return [(epsilon, pairs[0]) for epsilon, pairs in found if pairs]


def class_errors(tournament: Tournament, attack: Player, defence: Player) -> Sequence[ClassErrors]:
    """Return the errors of a defence on what an attack made, by class. They depend on labels of secret samples.

    A defence chooses what it labels and how, so the counts of one class tell it the labels of single samples: on secret
    samples they are for organisers until the bundle is released.
    """
    runs = DefenceRun.objects.filter(
        attack_run__tournament=tournament, attack_run__attack=attack, defence=defence, state=Run.State.PLAYED
    )
    batches = batches_of(tournament)
    return transfer_tables.class_errors(
        GivenLabels(defence.title, labels, [sample.label for sample in batches[number].samples])
        for number, labels in runs.values_list("attack_run__batch", "labels")
    )
