"""What every process of a site loads: libraries that take seconds and much memory wait until they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys
sys.path.insert(0, "platform")
from celery.fixups.django import DjangoWorkerFixup
from django.contrib.admin import ModelAdmin
from django.core import checks
from django.core.management import execute_from_command_line
from config.celery import app
DjangoWorkerFixup(app).validate_models()  # a worker starts so
app.loader.import_default_modules()  # and loads all tasks
print(*{"config.urls", "pages.urls", "api.urls"} & set(sys.modules))
if not (child := os.fork()):
    import accounts.allauth_adapter  # before anything else of allauth, as a check may do
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
checked = []
ModelAdmin.check = lambda page: checked.append(page) or []
checks.run_checks(tags=[checks.Tags.admin])
assert len(checked) > 60, "no page of the admin is checked"
execute_from_command_line(["manage.py", "check"])  # loads all apps, admin pages and addresses
print(*sorted({"foolbox", "opentelemetry", "scipy", "torch"} & set(sys.modules)))
"""


def test_workers_start_without_pages_and_no_program_with_pytorch_or_opentelemetry(root: Path, tmp_path: Path) -> None:
    own = {"DJANGO_SETTINGS_MODULE": "config.settings", "GAUNTLET_STATE": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=root, env=os.environ | own, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    of_worker, *_, of_all = result.stdout.splitlines()
    assert (of_worker, of_all) == ("", "")
