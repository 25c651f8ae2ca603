"""`gauntlet check` of a model by the rules of a competition of the curves format: the checks of the site."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from evaluation.cli.build_limit_use import build_limits
from evaluation.cli.competition_option import GivenCompetition
from evaluation.cli.options import build_players, open_sandbox
from evaluation.cli.output import say
from evaluation.domain.errors import Refusal
from evaluation.domain.players import TrackName
from evaluation.domain.smoke_test_result import SmokeTestResult
from evaluation.formats.curves.rules import CurvesRules
from evaluation.sandbox.host_speed import processor_factor


def smoke_test(given: argparse.Namespace, competition: GivenCompetition) -> SmokeTestResult:
    """Build the model in `given.directory` and play the smoke test of `competition`; it imports torch."""
    from evaluation.formats.curves.attacks.catalogue import attack_called
    from evaluation.formats.curves.runner.smoke_test import SAMPLES, check_model, needed_of

    rules = competition.rules_as(CurvesRules)
    _, _, samples = competition.read_samples(given.dataset)
    began = time.monotonic()
    (player,) = build_players([given.directory], given.sandbox)
    build = build_limits(given.sandbox, player.image, time.monotonic() - began)
    if player.track is not TrackName.MODEL:
        raise Refusal(
            f"{given.directory} is for the {player.track} track, and {competition.title} takes models only",
            fix='submit a model, with track = "model"',
        )
    say(f"{player.name}: manifest and build are valid ({player.track} track); running the smoke test ...")
    least = competition.least_accuracy if given.least_accuracy is None else given.least_accuracy
    found = check_model(
        player,
        samples=samples[: given.samples or SAMPLES],
        rules=rules,
        needed=needed_of(attack_called(each.name).by_budget.knowledge for each in rules.attacks),
        least_accuracy=least,
        sandbox=open_sandbox(given.sandbox),
        calibration=processor_factor(),
    )
    return replace(found, limits=(*build, *found.limits))
