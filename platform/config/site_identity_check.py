"""The check that every program of the site makes before it serves pages or takes work."""

from __future__ import annotations

from importlib import import_module


def require_site() -> None:
    """Raise `ImproperlyConfigured` if the state folder is not that of the database. Call it when Django is set up."""
    import_module("core.site_identity").require_identity_at_start()  # it needs the models, which are loaded by then
