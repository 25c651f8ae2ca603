"""QEBA-F (Li et al. 2020): HopSkipJump in the subspace of low frequencies."""

from __future__ import annotations

from hopskipjump import FIRST_PROBES, PROBE, step
from label_steps import walking

from gauntlet import serve_attack

KEPT = 16  # frequencies of each axis

attack = walking(step, first_probes=FIRST_PROBES, probe=PROBE, kept=KEPT)

if __name__ == "__main__":
    serve_attack(attack)
