"""How often the audit fails an honest model.

usage: python -m bench.audits COUNT [MODEL...]
Plays COUNT pieces of three samples, of the bundled or the named models in turn, each with its own fresh
start, against an attack that stays at the decision boundary, where rounding errors appear first. Prints a line
for each piece that did not pass, and the counts at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluation.builder.choose_builder import choose_builder
from evaluation.datasets.load import load_dataset
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.catalogue import baselines
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.results import AuditReport, sum_reports, with_inconsistency
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.audit_after_match import audit_model, with_audits
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources
from evaluation.sandbox.host_speed import calibrate
from evaluation.sandbox.process_sandbox import ProcessSandbox
from gauntlet import serve_attack

SAMPLES = 3
QUERIES = 24
BISECTIONS = 12


def stay_at_the_boundary(model: Any, image: Any, label: int | None, *, target: int | None, rng: Any) -> None:
    """Find the boundary on the line to the negative, then cross it back and forth."""
    far = 255.0 - image
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if model.is_adversarial(model(image + middle * (far - image))):
            high = middle
        else:
            low = middle
    while True:  # until the budget is exhausted
        model(image + high * (far - image) + rng.normal(0, 1, image.shape))


def audit(player: QueryPlayer, sandbox: ProcessSandbox, seed: int, calibration: float) -> tuple[AuditReport, list[str]]:
    """Play one piece; return its report and its failures."""
    rules = QueryRules(classes=10, query_budget=QUERIES)
    match = RefereedMatch(
        rules=rules,
        track=TrackName.UNTARGETED,
        model=SandboxedPlayer(sandbox, player, Resources()),
        attack=InProcessPlayer(lambda connected: serve_attack(stay_at_the_boundary, connected=connected)),
        seed=seed,
        calibration=calibration,
    )
    samples = load_dataset("digits").samples("validation")
    first = SAMPLES * (seed % (len(samples) // SAMPLES))
    try:
        piece = match.play_piece(list(samples[first : first + SAMPLES]))
        failures = match.failures
    finally:
        match.close()
    reports = audit_model(
        model=player,
        track=TrackName.UNTARGETED,
        rules=rules,
        kept=[piece.kept] if piece.kept else [],
        sandbox=sandbox,
        seed=seed,
        calibration=calibration,
        level_caches=False,
    )
    (final,) = with_audits([piece], reports)
    return final.audit, [str(failure) for failure in with_inconsistency(failures, final.audit)]


def main(say: Callable[[str], None] = print) -> None:
    count, names = int(sys.argv[1]), sys.argv[2:]
    chosen = [
        one.repository() for one in baselines() if one.track is TrackName.MODEL and (not names or one.name in names)
    ]
    players = [choose_builder("process").build(Path(path), on_log=lambda line: None) for path in chosen]
    sandbox, calibration = ProcessSandbox(), calibrate()
    reports: list[AuditReport] = []
    blamed = 0
    for seed in range(count):
        report, failures = audit(players[seed % len(players)], sandbox, seed, calibration)
        reports.append(report)
        if failures:
            blamed += 1
            say(f"seed {seed}, {players[seed % len(players)].name}: {'; '.join(failures)}")
    failed = sum(not report.passed for report in reports)
    say(f"{count} audits, {blamed} with a failure, {failed} not passed: {sum_reports(reports)}")


if __name__ == "__main__":
    main()
