"""Settings, environment and entry points of the site."""

from __future__ import annotations

from config.celery import app as celery_app
from config.threads import limit_threads

# here, since every program of the site imports this package before it loads a numerics library
limit_threads()

__all__ = ["celery_app"]
