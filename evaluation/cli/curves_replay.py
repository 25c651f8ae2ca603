"""Benchmarks of a released round of the curves format: an attack of the rules, run again on a released model."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.cli.format_replay_interface import (
    ReleasedMatch,
    ReleasedPlayer,
    ReplayableRound,
    Replayed,
    ReplayedRow,
    build_released,
)
from evaluation.cli.options import open_sandbox
from evaluation.cli.output import say, working
from evaluation.cli.released_round import ReleasedRound, open_images
from evaluation.datasets.released_samples import SPLIT, released
from evaluation.domain.errors import ReplayRefusal
from evaluation.domain.images import ImageShape
from evaluation.domain.players import TrackName
from evaluation.formats.curves.bundle.verify import CurvesBundle, read_signed
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.query.submissions_2018.builders import any_year_builder
from evaluation.sandbox.host_speed import processor_factor

_COLUMNS = ("clean image", "distance")


class CurvesReplayableRound(ReplayableRound):
    """See `ReplayableRound`. A match is a benchmark: an attack of the rules against the model of a team."""

    def __init__(self, of: ReleasedRound, key: str | None) -> None:
        self._of = of
        with ExitStack() as opened:
            bundle = opened.enter_context(of.open_bundle())
            found, self.report = read_signed(bundle, key, images=open_images(of, opened))
        self._benchmarks = {_name(line): line for line in found.benchmarks} if found else {}
        self._rules: Mapping[str, Any] = found.head["rules"] if found else {}
        self.matches = _matches(found) if found and self.report.ok else ()

    def replay(self, match: ReleasedMatch, repositories: Sequence[Path], given: argparse.Namespace) -> Replayed:
        """Attack the model with the seed of the benchmark; compare clean labels and distances with the bundle."""
        from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError, sandboxed
        from evaluation.formats.curves.runner.listed_benchmark import attacked

        (source,) = repositories
        line, rules = self._benchmarks[match.name], _rules(self._rules)
        samples = released(self._of.images).samples(SPLIT, match.samples)
        player = build_released(match.model, source, any_year_builder(given.sandbox).build)
        starting = sandboxed(
            player, sandbox=open_sandbox(given.sandbox), shape=rules.shape, classes=rules.classes,
            setup_seconds=rules.setup_seconds, seconds_per_image=rules.model_seconds_per_image,
            calibration=processor_factor(),
        )  # fmt: skip
        right, distances = [False] * match.samples, [math.inf] * match.samples
        try:
            with working(f"{match.attack.name} attacks {match.samples} images ..."), starting as model:
                found = attacked(model, samples, _attack(line), rules, seed=int(line["seed"]), dataset=SPLIT)
            right, distances = found.right.tolist(), found.distances.tolist()
        except ModelFailedError as error:
            say(f"failure: {match.model.title}: {error.reason.text}")
        return Replayed(_COLUMNS, tuple(_rows(line, right, distances)))


def _matches(bundle: CurvesBundle) -> list[ReleasedMatch]:
    models = {str(line["team"]): _model(line) for line in bundle.models}
    return [
        ReleasedMatch(
            ReleasedPlayer(_attack_name(line), "", ()),
            models[line["team"]],
            len(bundle.head["labels"]),
            _problem(line),
            listed=True,
        )
        for line in bundle.benchmarks
    ]


def _problem(line: Mapping[str, Any]) -> str:
    if line["reason"]:
        return f"the model failed: {line['reason']}"
    return "" if "seed" in line else "the site had a version whose bundles have no seeds"


def _model(line: Mapping[str, Any]) -> ReleasedPlayer:
    values = {name: line.get(name, "") for name in ("team", "commit", "title", "licence", "eligible", "why")}
    return ReleasedPlayer(line["team"], TrackName.MODEL, (BundleSubmission(**values),))


def _attack_name(line: Mapping[str, Any]) -> str:
    return f"{line['attack']}-{line['goal']}-{line['norm']}"


def _name(line: Mapping[str, Any]) -> str:
    return f"{_attack_name(line)}/{line['team']}"


def _attack(line: Mapping[str, Any]) -> ListedAttack:
    return ListedAttack.read({"name": line["attack"], **{key: line[key] for key in ("goal", "norm", "queries")}})


def _rows(line: Mapping[str, Any], right: Sequence[bool], distances: Sequence[float]) -> Iterator[ReplayedRow]:
    published = map(_values, line["right"], line["distances"])
    for number, (due, replayed) in enumerate(zip(published, map(_values, right, distances), strict=True)):
        yield ReplayedRow(number, due, replayed)


def _values(right: bool, distance: float | None) -> tuple[str, str | float]:
    nearest: str | float = "none" if distance is None or not math.isfinite(distance) else float(distance)
    return "right" if right else "wrong", nearest


def _rules(values: Mapping[str, Any]) -> CurvesRules:
    try:
        attacks = tuple(ListedAttack.read(each) for each in values["attacks"])
        return CurvesRules(**{**values, "shape": ImageShape(*values["shape"]), "attacks": attacks})
    except (LookupError, TypeError, ValueError) as error:
        raise ReplayRefusal(
            f"this version of gauntlet does not know the rules of the round: {error}",
            fix="use the version that the site had",
        ) from None
