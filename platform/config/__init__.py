"""Settings, environment and entry points of the site."""

from __future__ import annotations

from config.celery import app as celery_app
from config.garbage_collection import tune_garbage_collection
from config.numerics_threads import limit_threads

# here, since every program of the site imports this package before it loads a numerics library or the apps
limit_threads()
tune_garbage_collection()

__all__ = ["celery_app"]
