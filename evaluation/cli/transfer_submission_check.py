"""`gauntlet check` of a submission in the layout of 2017: the checks of the site in the transfer format."""

from __future__ import annotations

import argparse
import threading
import time
from dataclasses import replace

from evaluation.cli.build_limit_use import build_limits
from evaluation.cli.competition_option import given_competition
from evaluation.cli.options import open_sandbox, samples_of
from evaluation.cli.output import say, working
from evaluation.cli.transfer_commands import build_players
from evaluation.domain.errors import Refusal
from evaluation.domain.smoke_test_result import SmokeTestResult
from evaluation.formats.transfer.metadata import read_metadata
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.batch_in_sandbox import RunEnvironment
from evaluation.formats.transfer.runner.resource_limits import resources
from evaluation.formats.transfer.runner.smoke_test import SAMPLES, check_submission
from evaluation.legacy.licence_file import UNKNOWN, licence_of
from evaluation.sandbox.host_speed import processor_factor


def smoke_test(given: argparse.Namespace) -> SmokeTestResult:
    """Build `given.directory` and run it on one batch of at most `given.samples` images."""
    if given.model is not None:
        raise Refusal("the smoke test of the transfer format has no opponent", fix="leave --model out")
    given.default_samples = SAMPLES
    dataset, _, samples = samples_of(given)
    competition = given_competition(given)
    if competition is None:
        rules, least = TransferRules(shape=dataset.shape, classes=dataset.classes), given.least_accuracy
    else:
        rules = competition.rules_as(TransferRules)
        least = competition.least_accuracy if given.least_accuracy is None else given.least_accuracy
    began = time.monotonic()
    (player,) = build_players([given.directory], given.sandbox)
    build = build_limits(given.sandbox, player.image, time.monotonic() - began)
    licence = read_metadata(given.directory).licence or licence_of(given.directory)
    shown = "unknown, so it is not eligible for a final" if licence == UNKNOWN else licence
    say(
        f"{player.name}: manifest and build are valid ({player.track} track of the transfer format, licence {shown}); "
        "running the smoke test ..."
    )
    output: list[str] = []
    with working(f"smoke test of {player.name}"):
        found = check_submission(
            player,
            rules=rules,
            samples=samples,
            least_accuracy=least or 0.0,
            stage=RunEnvironment(open_sandbox(given.sandbox), resources(), processor_factor(), threading.Event()),
            seed=given.seed,
            on_log=output.append,
            most=SAMPLES if competition and given.samples is None else len(samples),
        )
    return replace(found, limits=(*build, *found.limits), log="".join(f"{line}\n" for line in output))
