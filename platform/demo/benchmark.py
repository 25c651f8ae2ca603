"""The robustness benchmark of the bundled models, small enough for a few minutes (`manage.py demo --benchmark`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SAMPLES = 2
QUERIES = 200
"""Of one image, at most: fewer than the paper's 20,000, with which the attacks on scores and decisions take hours."""
HALVINGS = 4
"""Of the search for the smallest budget, which is known to about a fifth after so many."""
PROCESSES = 2


def run_benchmark(folder: Path, samples: int | None) -> int:
    """Run all attacks with all goals and norms against the bundled models of the digits; return the exit status.

    Results and report go to the folder, and what it has is not run again.
    """
    options = {
        "--goal": "untargeted,targeted",
        "--norm": "linf,l2",
        "--samples": samples or SAMPLES,
        "--queries": QUERIES,
        "--halvings": HALVINGS,
        "--processes": PROCESSES,
        "--out": folder,
    }
    words = [str(word) for option in options.items() for word in option]
    return subprocess.run([sys.executable, "-m", "evaluation", "benchmark", *words], check=False).returncode
