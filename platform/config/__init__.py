"""Settings, environment and entry points of the site."""

from __future__ import annotations

from config.garbage_collection import put_off_garbage_collection
from config.numerics_threads import limit_threads

# here, since every program of the site imports this package before it loads Celery, a numerics library or the apps
put_off_garbage_collection()
limit_threads()

from config.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
