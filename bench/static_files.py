"""The static files of a new site. Import only after Django's settings are named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

COLLECTED_VARIABLE = "GAUNTLET_BENCH_STATIC_FILES"
"""In the environment: a folder for what the first measurement of a command collects, and the others copy."""


def collect_static() -> None:
    """Collect them as an operator does, once for all measurements of a command: it takes a second."""
    collected = os.environ.get(COLLECTED_VARIABLE, "")
    if collected and Path(collected).exists():
        shutil.copytree(collected, settings.STATIC_ROOT, dirs_exist_ok=True)
        return
    call_command("collectstatic", verbosity=0, interactive=False)
    if collected:
        shutil.copytree(settings.STATIC_ROOT, collected)
