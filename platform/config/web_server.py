"""Settings of the web server: `gunicorn --config python:config.web_server`."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

wsgi_app = "config.wsgi:application"
worker_class = "gthread"
workers = 2
threads: int = settings.WEB_THREADS


def on_starting(server: Any) -> None:
    """Stop the start if `--threads` differs from the setting, from which the limit of clones and pushes follows."""
    if server.cfg.threads != settings.WEB_THREADS:
        sys.exit(
            f"gunicorn has {server.cfg.threads} threads and GAUNTLET_WEB_THREADS is {settings.WEB_THREADS}. Leave "
            "--threads out, and set GAUNTLET_WEB_THREADS."
        )
