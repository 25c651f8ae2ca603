"""What the smoke test of the transfer format tells a team."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from evaluation.domain.samples import Sample
from evaluation.formats.transfer.rules import TransferRules
from evaluation.formats.transfer.runner.batch_in_sandbox import RunEnvironment
from evaluation.formats.transfer.runner.smoke_test import RUN, check_submission
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.base import Resources
from evaluation.sandbox.process_sandbox import ProcessSandbox


def test_a_slow_submission_learns_the_limit_in_figures(
    rules: TransferRules, samples: list[Sample], sandbox: ProcessSandbox, submission: Callable[..., TransferPlayer]
) -> None:
    result = check_submission(
        submission("exec sleep 60"),
        rules=replace(rules, batch_seconds=0.5),
        samples=samples,
        least_accuracy=0.0,
        stage=RunEnvironment(sandbox, Resources(), 1.0, threading.Event()),
        seed=0,
        on_log=lambda line: None,
    )
    check = next(check for check in result.checks if check.name == RUN)
    assert not check.passed
    assert check.fix == "make it faster: a batch of up to 3 images may take 0.5 s by the clock"
