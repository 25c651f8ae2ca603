"""Submissions in `gauntlet benchmark`: built and started as by `gauntlet check`, and asked for what they offer."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from evaluation.cli.options import build_players, open_sandbox, submission
from evaluation.cli.query_commands import require_track
from evaluation.datasets.base import Dataset
from evaluation.domain.errors import Refusal
from evaluation.domain.players import TrackName
from evaluation.formats.curves.models.replayed_queries_check import ReplayedQueries
from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError, SandboxedClassifier, sandboxed
from evaluation.formats.curves.rules import CurvesRules
from evaluation.sandbox.host_speed import processor_factor

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

PREFIX = "submission:"
"""Before the directory of a submission, or the name of a bundled one, as a model."""


@dataclass(frozen=True, eq=False)
class BenchmarkedSubmission:
    """A running submission."""

    model: SandboxedClassifier
    replayed: ReplayedQueries
    start: Callable[[], AbstractContextManager[SandboxedClassifier]]

    def check_answers_of_fresh_instance(self) -> None:
        """Raise `Refusal` if a fresh instance answers otherwise than the model did."""
        with failures_as_refusals(self.model.name), self.start() as fresh:
            self.replayed.ask(fresh)


@contextmanager
def running_submission(name: str, dataset: Dataset, sandbox: str, seed: int) -> Iterator[BenchmarkedSubmission]:
    """Build the submission of `submission:DIR` and start it; end it afterwards. Raise `Refusal` or `Fault`."""
    try:
        source = submission(name.removeprefix(PREFIX))
    except argparse.ArgumentTypeError as error:
        raise Refusal(str(error), fix="name a directory with a submission.toml: submission:DIR") from error
    (player,) = build_players([source], sandbox)
    require_track(player, TrackName.MODEL, source)
    limits = CurvesRules()
    start = partial(
        sandboxed, player, sandbox=open_sandbox(sandbox), shape=dataset.shape, classes=dataset.classes,
        setup_seconds=limits.setup_seconds, seconds_per_image=limits.model_seconds_per_image,
        calibration=processor_factor(),
    )  # fmt: skip
    replayed = ReplayedQueries(seed)
    with ExitStack() as stack:
        with failures_as_refusals(player.name):
            model = stack.enter_context(start(on_answer=replayed.add))
        yield BenchmarkedSubmission(model, replayed, start)


@contextmanager
def failures_as_refusals(name: str) -> Iterator[None]:
    """Turn the failure of a submission into a `Refusal`."""
    try:
        yield
    except ModelFailedError as error:
        detail = f" ({error.detail})" if error.detail else ""
        raise Refusal(
            f"{name} failed: {error.reason.text}{detail}", fix="gauntlet check DIR shows its output; correct the model"
        ) from error
