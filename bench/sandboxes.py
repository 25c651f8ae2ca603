"""The same match in the Docker sandbox and in the process sandbox, after start-up."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import docker

from bench.interleaved import Spread, ratios, say, take_turns
from bench.programs import BENCH, NotAvailableError
from bench.report import Section, table
from bench.sizes import sized
from evaluation.builder.choose_builder import choose_builder
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import GauntletError
from evaluation.domain.samples import Sample
from evaluation.formats.query.catalogue import find_baseline
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_sandbox import ProcessSandbox

ROUNDS = sized(9, smallest=1)
SANDBOXES: dict[str, Callable[[], Sandbox]] = {"process": ProcessSandbox, "docker": DockerSandbox}
MODEL = "numpy-classifier"
ATTACK = BENCH / "players" / "noise-attack"


def measure() -> Section:
    """Repeat a piece of ten samples and 3,000 queries; raise `NotAvailableError` without Docker."""
    dataset = load_dataset("digits")
    samples = list(dataset.samples("validation", 10))
    rules = QueryRules(shape=dataset.shape, classes=dataset.classes)
    with ExitStack() as stack:
        matches = {name: _match(stack, name, rules) for name in SANDBOXES}
        turns = {name: partial(_play, match, samples) for name, match in matches.items()}
        seconds = take_turns("sandboxes", turns, ROUNDS)  # the warm-up round includes the start of the players
        for name, match in matches.items():
            if match.failures:
                raise RuntimeError(f"{name}: {match.failures[0]}")
    rows = [[name, f"{Spread.of(taken).median:.3f} s"] for name, taken in seconds.items()]
    over = ratios(seconds["docker"], seconds["process"])
    lines = [
        *table(["sandbox", "one piece: 10 samples, 3,000 queries"], rows),
        "",
        *table(
            ["", "target", "measured: median of rounds (smallest to largest)"],
            [["docker's time to process's", "0.90 to 1.10", over.text()]],
        ),
    ]
    return Section("Docker sandbox and process sandbox", lines)


def _match(stack: ExitStack, name: str, rules: QueryRules) -> RefereedMatch:
    try:
        builder = choose_builder(name)
        paths = (find_baseline(MODEL).repository(), ATTACK)
        model, attack = (builder.build(path, on_log=lambda line: say(f"  {line}")) for path in paths)
        sandbox = SANDBOXES[name]()
    except (GauntletError, docker.errors.DockerException) as error:
        raise NotAvailableError(f"{name}: {error}") from error
    match = RefereedMatch(
        rules=rules,
        track=attack.track,
        model=SandboxedPlayer(sandbox, model, Resources()),
        attack=SandboxedPlayer(sandbox, attack, Resources()),
        seed=0,
    )
    stack.callback(match.close)
    return match


def _play(match: RefereedMatch, samples: list[Sample]) -> float:
    """Return the seconds of a piece: the clean images, the attack, the verdict and the audit's replays."""
    return match.play_piece(samples).seconds
