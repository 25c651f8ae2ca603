"""Adapter: plays challenges with the engine, as the smoke test plays its match, and reads their images."""

from __future__ import annotations

import io
import logging
from datetime import timedelta
from statistics import median
from typing import Any

import numpy as np

from competitions.sample_pictures import sample_picture
from competitions.sample_store import samples_of
from core import clock, object_store
from core.errors import Fault, Refusal
from evaluation.domain.images import Image
from evaluation.domain.players import QueryPlayer, Side, TrackName
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.results import PieceResult, RefereedSample
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.formats.query.scoring.scored_distances import scored_distance
from formats.query.challenges.models import Challenge
from formats.query.matches.match_numbers_and_curves import MatchSampleRow
from formats.query.matches.match_session import longest_seconds
from formats.query.matches.player_builds import baseline_player, ready_player
from formats.query.tracks import MODEL
from workers.calibration import calibration, measure_again, require_steady
from workers.sandboxes import Sandbox, resources
from workers.slot_device import device_of, slot

log = logging.getLogger(__name__)


def played(challenge: Challenge, sandbox: Sandbox) -> dict[str, Any]:
    """Play a challenge in `sandbox`; return the columns of its result, with errors of players. Raise `Fault`.

    The model is not audited on a fresh instance: its evaluation decides about that.
    """
    measure_again()
    own, other = _own(challenge), _opponent(challenge)
    model, attack = (own, other) if challenge.submission.repository.track.name == MODEL else (other, own)
    share = resources(device_of(slot()))
    match = RefereedMatch(
        rules=challenge.rules.rules_as(QueryRules),
        track=TrackName(challenge.attack_track),
        model=SandboxedPlayer(sandbox, model, share),
        attack=SandboxedPlayer(sandbox, attack, share),
        seed=challenge.seed,
        calibration=calibration(gpu=model.gpu),
        attack_calibration=calibration(gpu=attack.gpu),
        fresh_audit=False,
    )
    charged = {side: calibration(gpu=player.gpu) for side, player in ((Side.MODEL, model), (Side.ATTACK, attack))}
    try:
        pieces = list(match.play(samples_of(challenge.sample_set)[: challenge.samples]))
    finally:
        match.close()
    for failure in match.failures:
        gpu = (model if failure.side is Side.MODEL else attack).gpu
        require_steady(charged[failure.side], failure.reason, gpu=gpu)
    rows = [_row(sample) for piece in pieces for sample in piece.samples]
    return {
        "results": [row._asdict() for row in rows],
        "median": median(row.distance for row in rows),
        "images": object_store.put(_packed(pieces)),
        "played_at": clock.database_now(),
    }


def longest(challenge: Challenge) -> timedelta:
    """Return how long a worker may hold a challenge at most: beyond it the worker hangs."""
    factor = max(calibration(), calibration(gpu=True))
    return timedelta(seconds=longest_seconds(challenge.rules.rules_as(QueryRules), challenge.samples, factor))


def picture(challenge: Challenge, sample: int, name: str) -> bytes:
    """Return a picture of a sample as PNG. Raise `Refusal` if it has not been played or the name is unknown."""
    return sample_picture(challenge.sample_set, sample, name, lambda: _perturbed(challenge, sample))


def _perturbed(challenge: Challenge, sample: int) -> Image:
    numbers = [row["sample"] for row in challenge.results]
    if sample not in numbers:
        raise Refusal(f"sample {sample} of {challenge} has not been played", fix="choose one that was played")
    with np.load(io.BytesIO(object_store.get(challenge.images)), allow_pickle=False) as columns:
        image: Image = columns["perturbed"][numbers.index(sample)]
    return image


def _packed(pieces: list[PieceResult]) -> bytes:
    """Return the perturbed images of all samples as an .npz."""
    file = io.BytesIO()
    np.savez_compressed(file, perturbed=np.concatenate([piece.perturbed for piece in pieces]))
    return file.getvalue()


def _row(sample: RefereedSample) -> MatchSampleRow:
    return MatchSampleRow(
        sample=sample.sample,
        outcome=str(sample.outcome),
        distance=scored_distance(sample.outcome, sample.distance, sample.worst_case),
        queries=sample.queries,
        seconds=sample.seconds,
        reason=str(sample.reason or ""),
        found_label=sample.found_label,
    )


def _own(challenge: Challenge) -> QueryPlayer:
    if challenge.submission.player is None:
        raise Fault(f"{challenge.submission} is ready without a player")
    return ready_player(challenge.submission.player, log.debug)


def _opponent(challenge: Challenge) -> QueryPlayer:
    if challenge.opponent is None:
        track = challenge.rules.competition.tracks.get(name=challenge.opponent_track)
        return ready_player(baseline_player(track, challenge.baseline, log.debug), log.debug)
    if challenge.opponent.player is None:
        raise Fault(f"{challenge.opponent} is released without a player")
    return ready_player(challenge.opponent.player, log.debug)
