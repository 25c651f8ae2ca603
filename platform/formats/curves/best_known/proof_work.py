"""Verifications of proofs as work of the workers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, QuerySet

from core import clock
from formats.curves.best_known.best_known_distances import best_known
from formats.curves.best_known.proof_comparison import DEADLINE_SECONDS, lowered_by
from formats.curves.models import Improvement, Proof
from rounds.running.transitions import locked
from workers.models import Worker
from workers.sandboxes import Sandbox
from workers.single_item_work import RowWork

_MARGIN = timedelta(minutes=10)
"""For the starts of two instances, which have limits of their own, and for images of players that are fetched."""


class ProofWork(RowWork[Proof]):
    """One proof. It belongs to no team, and all proofs share the workers as one team does.

    A proof that was accepted is verified whatever becomes of its model and its round meanwhile; while the competition
    is archived, it waits.
    """

    name = "proofs"
    tables = (Proof,)

    def playable(self) -> QuerySet[Proof]:
        return Proof.objects.filter(round_entry__round__competition__archived_at=None).select_related(
            "round_entry__player__repository", "round_entry__round__sample_set",
            "round_entry__round__rules__competition",
        )  # fmt: skip

    def waiting_for(self, worker: Worker, now: datetime) -> QuerySet[Proof]:
        """Return also proofs against models that need a GPU to workers that have one."""
        waiting = self.waiting(now)
        return waiting if worker.device else waiting.exclude(round_entry__player__gpu=True)

    def longest(self, claim: Proof) -> timedelta:
        return timedelta(seconds=DEADLINE_SECONDS) + _MARGIN

    def play(self, item: Proof, sandbox: Sandbox) -> Mapping[str, Any]:
        from formats.curves.best_known.proof_verification import verified  # noqa: PLC0415 - see its docstring

        return verified(item, best_known(item.round_entry).distances, sandbox)

    def committed(self, item: Proof, result: Mapping[str, Any]) -> None:
        """Lower what is best known by then, under a lock: of proofs that are verified at once, one sees the other."""
        if result["outcome"] != Proof.Outcome.VERIFIED:
            Proof.objects.filter(pk=item.pk).update(verified_at=clock.database_now())
            return
        locked(item.round_entry.round)
        before = Proof.objects.filter(round_entry=item.round_entry).aggregate(last=Max("position"))["last"] or 0
        lowered = lowered_by(item, result["verdicts"], best_known(item.round_entry).distances)
        now = clock.database_now()
        Proof.objects.filter(pk=item.pk).update(position=before + 1, verified_at=now)
        Improvement.objects.bulk_create(
            Improvement(proof=item, image=each.image, norm=each.norm.value, distance=each.distance, at=now)
            for each in lowered
        )

    def log_ids(self, claim: Proof) -> dict[str, int]:
        return {"proof": claim.pk}

    def fault_columns(self, fault: str) -> dict[str, Any]:
        return {"fault": fault}


proofs = ProofWork()
