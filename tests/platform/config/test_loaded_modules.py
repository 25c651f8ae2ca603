"""What every process of a site loads: libraries that take seconds and much memory wait until they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from django.core.management import execute_from_command_line
sys.path.insert(0, "platform")
execute_from_command_line(["manage.py", "check"])  # loads all apps, admin pages and addresses
from config.celery import app
app.loader.import_default_modules()  # and a worker loads all tasks
print(*sorted({"foolbox", "opentelemetry", "scipy", "torch"} & set(sys.modules)))
"""


def test_web_and_workers_start_without_pytorch_and_opentelemetry(root: Path, tmp_path: Path) -> None:
    own = {"DJANGO_SETTINGS_MODULE": "config.settings", "GAUNTLET_STATE": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=root, env=os.environ | own, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert result.stdout.splitlines()[-1] == ""
