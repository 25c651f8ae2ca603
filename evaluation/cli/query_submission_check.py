"""`gauntlet check` of a submission of the query format: the checks of the site, in a short match."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.cli import curves_submission_check
from evaluation.cli.build_limit_use import build_limits
from evaluation.cli.competition_option import BUNDLED_SOURCE, UNPUBLISHED, GivenCompetition, given_competition
from evaluation.cli.options import Chosen, build_players, chosen_samples, open_sandbox
from evaluation.cli.output import progress_bar, say
from evaluation.cli.query_commands import require_track
from evaluation.domain.errors import Refusal
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.domain.smoke_test_result import SmokeCheck, SmokeTestResult
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.query.catalogue import find_baseline, is_bundled
from evaluation.formats.query.results import PieceResult
from evaluation.formats.query.runner.smoke_opponent import (
    MADE_FROM,
    SmokeOpponent,
    nearest_mean_opponent,
    player_opponent,
)
from evaluation.formats.query.runner.smoke_test import SAMPLES, check_attack, check_model
from evaluation.sandbox.base import Sandbox
from evaluation.sandbox.host_speed import processor_factor
from gauntlet import frames

LEAST_ACCURACY = 0.5
"""The clean accuracy that a model needs, if the competition does not say another one."""

OPPONENT = "numpy-classifier"
"""The bundled model of the digits that attacks are checked against; it needs only numpy."""


def smoke_test(given: argparse.Namespace) -> SmokeTestResult:
    """Build `given.directory` and play its smoke test; by the rules of a competition of models alone, that of these."""
    competition = given_competition(given, checking=True)
    if competition is not None and competition.format == CurvesRules.format:
        return curves_submission_check.smoke_test(given, competition)
    chosen = chosen_samples(given)
    began = time.monotonic()
    (player,) = build_players([given.directory], given.sandbox)
    build = build_limits(given.sandbox, player.image, time.monotonic() - began)
    say(f"{player.name}: manifest and build are valid ({player.track} track); running the smoke test ...")
    found = _play(player, given, chosen)
    return replace(found, limits=(*build, *found.limits))


def _play(player: QueryPlayer, given: argparse.Namespace, chosen: Chosen) -> SmokeTestResult:
    sandbox = open_sandbox(given.sandbox)
    opponent = None if player.track is TrackName.MODEL else _opponent(given, chosen)
    competition = given_competition(given)
    count = min(len(chosen.samples), len(opponent.samples if opponent else chosen.samples))
    if competition is not None and given.samples is None:
        count = min(SAMPLES, count)
    with progress_bar(count, f"smoke test of {player.name}") as bar:

        def on_piece(piece: PieceResult) -> None:
            bar.step(len(piece.samples))

        common: dict[str, Any] = {
            "rules": chosen.rules,
            "sandbox": sandbox,
            "seed": given.seed,
            "calibration": processor_factor(),
            "most": count,
            "on_piece": on_piece,
        }
        if opponent is None:
            usual = LEAST_ACCURACY if competition is None else competition.least_accuracy
            least = usual if given.least_accuracy is None else given.least_accuracy
            found = check_model(player, samples=chosen.samples, least_accuracy=least, **common)
            if competition is not None or not (found.passed and found.offers & frames.OFFERS_SCORES):
                return found
            return _with_answers(found, player, chosen, sandbox, common["calibration"])
        return check_attack(player, opponent=opponent, **common)


def _with_answers(
    found: SmokeTestResult, player: QueryPlayer, chosen: Chosen, sandbox: Sandbox, calibration: float
) -> SmokeTestResult:
    """Add the check of the scores and gradients that a model offers, which competitions of the curves format need.

    It starts the model once more, and imports torch.
    """
    from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError, sandboxed  # torch takes seconds
    from evaluation.formats.curves.runner.benchmark_run import as_tensor
    from evaluation.formats.curves.runner.offered_answers_check import NAME, check_answers

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
    competition = given_competition(given)
    named = competition.opponent if competition is not None and given.model is None else ""
    if named == UNPUBLISHED:
        raise Refusal(
            "the smoke test of this competition has an opponent that its organisers do not publish",
            fix="name a model for these images: --model DIR",
        )
    source_of_images = competition.samples["source"] if competition is not None else given.dataset or BUNDLED_SOURCE
    if given.model is None and not named and source_of_images != BUNDLED_SOURCE:
        if competition is not None:
            return nearest_mean_opponent(chosen.samples)
        opponent = nearest_mean_opponent(chosen.first(max(MADE_FROM, len(chosen.samples))))
        say(f"opponent: a nearest-mean model of the split {chosen.split!r}")
        return opponent
    # a bundled model is trusted; a given one runs like the attack itself
    source = given.model or (
        _named_opponent(competition) if competition and named else find_baseline(OPPONENT).repository()
    )
    sandbox = "process" if is_bundled(source) else given.sandbox
    (model,) = build_players([source], sandbox)
    require_track(model, TrackName.MODEL, source)
    return player_opponent(model, open_sandbox(sandbox), chosen.samples)


def _named_opponent(competition: GivenCompetition) -> Path:
    """Return the repository of the opponent: a directory only where a file names it, never for the answer of a site."""
    folder = Path(competition.opponent)
    return folder if not competition.archive and folder.is_dir() else find_baseline(competition.opponent).repository()
