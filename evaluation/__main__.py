"""`python -m evaluation` is `gauntlet`."""

from __future__ import annotations

import sys

from evaluation.cli import main

sys.exit(main())
