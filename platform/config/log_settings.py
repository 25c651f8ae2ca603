"""Django's `LOGGING`, for the web server, the workers and the console alike."""

from __future__ import annotations

import logging
from typing import Any

LEVELS = ("INFO", "DEBUG", "WARNING", "ERROR")
FORMATS = ("json", "text")

_OWN = (
    *("accounts", "api", "competitions", "config", "core", "demo", "evaluation", "formats", "pages", "repositories"),
    *("rounds", "submissions", "workers"),
)


def log_settings(level: str, form: str) -> dict[str, Any]:
    """Return the configuration: lines of `form` on standard error from `level` on, errors to the operators too.

    `DEBUG` is for the site's own loggers: what libraries log at it may hold secrets.
    """
    of_libraries = "INFO" if level == "DEBUG" else level
    of_each_task = "INFO" if level == "DEBUG" else max("WARNING", level, key=logging.getLevelNamesMapping().__getitem__)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {"()": "core.log_formatters.JsonFormatter"},
            "text": {"()": "core.log_formatters.TextFormatter"},
        },
        "filters": {"uncaught": {"()": "core.log_formatters.UncaughtErrors"}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": form},
            "operators": {"class": "core.operator_mail.OperatorMail", "level": "ERROR", "formatter": "text"},
        },
        "root": {"level": of_libraries, "handlers": ["stderr", "operators"]},
        "loggers": {
            **{name: {"level": level} for name in _OWN},
            # Django's own handlers would write each line a second time
            "django": {"level": of_libraries, "handlers": [], "propagate": True},
            "django.request": {"level": "ERROR", "filters": ["uncaught"]},
            # any client can send a wrong host name; the request is rejected
            "django.security.DisallowedHost": {"handlers": [], "propagate": False, "level": "CRITICAL"},
            # a worker process of gunicorn; its master has not read these settings
            "gunicorn.error": {"handlers": [], "propagate": True},
            # `core.span_export` says what it says, once
            "opentelemetry": {"level": "CRITICAL"},
            # two lines for each task: the sweeps alone run every ten seconds
            "celery.worker.strategy": {"level": of_each_task},
            "celery.app.trace": {"level": of_each_task},
        },
    }
