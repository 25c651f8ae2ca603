"""`gauntlet check` of a submission of the query format: the checks of the site, in a short match."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from evaluation.cli.options import Chosen, build_players, chosen_samples, open_sandbox
from evaluation.cli.output import progress_bar, say
from evaluation.cli.query_commands import require_track
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.domain.smoke_checks import SmokeCheck, SmokeTestResult
from evaluation.formats.query.catalogue import find_baseline
from evaluation.formats.query.results import PieceResult
from evaluation.formats.query.runner.smoke_opponent import (
    MADE_FROM,
    SmokeOpponent,
    nearest_mean_opponent,
    player_opponent,
)
from evaluation.formats.query.runner.smoke_test import SAMPLES, check_attack, check_model
from evaluation.sandbox.base import Sandbox
from evaluation.sandbox.host_speed import calibrate

LEAST_ACCURACY = 0.5
"""The clean accuracy that a model needs, if the competition does not say another one."""

OPPONENT = "numpy-classifier"
"""The bundled model of the digits that attacks are checked against; it needs only numpy."""


def smoke_test(given: argparse.Namespace) -> SmokeTestResult:
    """Build `given.directory` and play its smoke test."""
    chosen = chosen_samples(given)
    (player,) = build_players([given.directory], given.sandbox)
    say(f"{player.name}: manifest and build are valid ({player.track} track); running the smoke test ...")
    return _play(player, given, chosen)


def _play(player: QueryPlayer, given: argparse.Namespace, chosen: Chosen) -> SmokeTestResult:
    sandbox = open_sandbox(given.sandbox)
    opponent = None if player.track is TrackName.MODEL else _opponent(given, chosen)
    count = min(len(chosen.samples), len(opponent.samples if opponent else chosen.samples))
    with progress_bar(count, f"smoke test of {player.name}") as bar:

        def on_piece(piece: PieceResult) -> None:
            bar.step(len(piece.samples))

        common: dict[str, Any] = {
            "rules": chosen.rules,
            "sandbox": sandbox,
            "seed": given.seed,
            "calibration": calibrate(),
            "most": count,
            "on_piece": on_piece,
        }
        if opponent is None:
            least = LEAST_ACCURACY if given.least_accuracy is None else given.least_accuracy
            found = check_model(player, samples=chosen.samples, least_accuracy=least, **common)
            return _with_answers(found, player, chosen, sandbox, common["calibration"]) if found.passed else found
        return check_attack(player, opponent=opponent, **common)


def _with_answers(
    found: SmokeTestResult, player: QueryPlayer, chosen: Chosen, sandbox: Sandbox, calibration: float
) -> SmokeTestResult:
    """Add the check of the scores and gradients that a model offers, which competitions of the curves format need."""
    from evaluation.formats.curves.models.sandboxed import ModelFailedError, sandboxed  # torch takes seconds
    from evaluation.formats.curves.runner.offered_answers import NAME, check_answers
    from evaluation.formats.curves.runner.run import as_tensor

    rules = chosen.rules
    try:
        with sandboxed(
            player, sandbox=sandbox, shape=rules.shape, classes=rules.classes, setup_seconds=rules.setup_seconds,
            seconds_per_image=rules.model_seconds_per_image, calibration=calibration,
        ) as model:  # fmt: skip
            answers = check_answers(model, as_tensor(chosen.samples[:SAMPLES]), model.offers)
    except ModelFailedError as error:
        seen = f"{error.reason.text}: {error.detail}" if error.detail else error.reason.text
        answers = SmokeCheck(NAME, False, seen, fix="return finite numbers, one score for each class")
    return replace(found, checks=(*found.checks, answers)) if answers else found


def _opponent(given: argparse.Namespace, chosen: Chosen) -> SmokeOpponent:
    if given.model is None and given.dataset != "digits":
        opponent = nearest_mean_opponent(chosen.first(max(MADE_FROM, len(chosen.samples))))
        say(f"opponent: a nearest-mean model of the split {chosen.split!r}")
        return opponent
    # a bundled model is trusted; a given one runs like the attack itself
    sandbox = given.sandbox if given.model else "process"
    source = given.model or find_baseline(OPPONENT).repository()
    (model,) = build_players([source], sandbox)
    require_track(model, TrackName.MODEL, source)
    return player_opponent(model, open_sandbox(sandbox), chosen.samples)
