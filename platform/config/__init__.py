"""Settings, environment and entry points of the site."""

from __future__ import annotations

from config.celery import app as celery_app
from config.garbage_collection import collect_less_often
from config.numerics_threads import limit_threads

# here, since every program of the site imports this package before it loads a numerics library or the apps
limit_threads()
collect_less_often()

__all__ = ["celery_app"]
