"""Make matches, have failed ones played again, and note the workers that play."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

from django.db import transaction

from accounts.models import User
from competitions.models import RulesVersion, SampleSet, Track
from competitions.rules import query_rules
from core import clock, doorbell, events
from core.errors import Refusal
from matches.models import Match, Piece, Worker
from submissions.models import Player


def ensure_match(*, rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player) -> Match:
    """The match of `attack` against `model`, made with its pieces where it was never asked for before.

    One that is played already is returned as it is: nothing is played twice. Safe to call at once from anywhere.
    """
    _check_sides(rules, sample_set, model, attack)
    with transaction.atomic():
        match, made = Match.objects.get_or_create(
            rules=rules,
            sample_set=sample_set,
            model=model,
            attack=attack,
            defaults={
                "seed": match_seed(rules=rules, sample_set=sample_set, model=model, attack=attack),
                "needs_gpu": model.gpu or attack.gpu,
                "created_at": clock.now(),
            },
        )
        if made:
            size = query_rules(rules.values, rules.version).piece_samples
            starts = range(0, sample_set.count, size)
            Piece.objects.bulk_create(
                Piece(match=match, number=number, first=first, count=min(size, sample_set.count - first))
                for number, first in enumerate(starts)
            )
            doorbell.ring("matches.play")
    return match


def match_seed(*, rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player) -> int:
    """The seed of a match: 63 bits that follow from what is played, so that playing it anew gives the same rows."""
    text = json.dumps([rules.values, rules.version, sample_set.digest, model.digest, attack.digest], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def replay_failed(match: Match, by: User, reason: str = "") -> None:
    """Have the failed pieces of a failed match played again; what is played stays. Raises `Refusal` for any other."""
    with transaction.atomic():
        # locked, or a piece that is given up this very moment would be missed, and its match stay open for ever
        locked = Match.objects.select_for_update(no_key=True).get(pk=match.pk)
        if locked.state != Match.State.FAILED:
            raise Refusal(f"{match} has not failed", fix="only a failed match can be replayed")
        played = locked.pieces.filter(state=Piece.State.PLAYED).exists()
        Match.objects.filter(pk=match.pk).update(
            state=Match.State.PLAYING if played else Match.State.WAITING, fault="", finished_at=None
        )
        locked.pieces.filter(state=Piece.State.FAILED).update(state=Piece.State.WAITING, faults=0, lease_until=None)
        events.record("replay", match, by=by, reason=reason, fault=locked.fault)
        doorbell.ring("matches.play")
    match.refresh_from_db()


def note_worker(*, name: str, worker_class: str, device: str, calibration: float, started_at: datetime) -> Worker:
    """The row of a worker process that plays now, made or brought up to date."""
    worker, _ = Worker.objects.update_or_create(
        name=name,
        defaults={
            "worker_class": worker_class,
            "device": device,
            "calibration": calibration,
            "started_at": started_at,
            "last_seen_at": clock.now(),
        },
    )
    return worker


def note_alive(worker: Worker) -> None:
    """A worker process gives a sign of life."""
    Worker.objects.filter(pk=worker.pk).update(last_seen_at=clock.now())


def _check_sides(rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player) -> None:
    if model.kind != Track.Kind.MODEL or attack.kind == Track.Kind.MODEL:
        raise ValueError(f"a match needs a model and an attack, not {model.kind} and {attack.kind}")
    if len({row.competition_id for row in (rules, sample_set, model, attack)}) > 1:
        raise ValueError("rules, sample set and players are not of one competition")
