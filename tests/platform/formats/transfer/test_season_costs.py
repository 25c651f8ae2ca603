"""The arithmetic of the costs of a season of the transfer format."""

from __future__ import annotations

import pytest

from formats.transfer.season_costs import OpposingSides, Runs, Tournaments

SETS = Tournaments(attack_seconds=2.0, defence_seconds=0.5, stored_bytes=100.0, images=90, batches=3)
FIELD = OpposingSides(attacks=4, defences=5, attacks_on_gpus=0.5, defences_on_gpus=0.2)


def test_every_attack_meets_every_defence_on_every_batch() -> None:
    assert SETS.whole(FIELD) == Runs(attacks=12, defences=60, repeats=5), "a twentieth of twelve runs, rounded up"


def test_a_further_submission_meets_the_other_side() -> None:
    assert SETS.further(2, 1, FIELD) == Runs(attacks=6, defences=3 * (2 * 5 + 4), repeats=3)
    assert SETS.further(0, 0, FIELD) == Runs(0, 0, 0)


def test_a_line_costs_the_images_of_its_runs() -> None:
    line = SETS.line("Final", "", Runs(12, 60, 5), FIELD)
    assert (line.number, line.unit, line.samples) == (77, "runs", 77 * 30)
    assert line.seconds == pytest.approx(12 * 30 * 2.0 + 65 * 30 * 0.5)
    assert line.gpu_seconds == pytest.approx(0.5 * 12 * 30 * 2.0 + 0.2 * 65 * 30 * 0.5)
    assert line.stored_bytes == 12 * 30 * 100.0
