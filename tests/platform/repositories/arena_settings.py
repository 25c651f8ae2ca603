"""Settings of a site with git only."""

from __future__ import annotations

from config.settings import *  # noqa: F403 - unchanged, except for the following

ROOT_URLCONF = "arena"
MAX_PUSH_BYTES = 32 << 20
MAX_FILE_BYTES = 30 << 20
MAX_REFS = 60
MAX_PUSH_REFS = 50
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "INFO"},
}
