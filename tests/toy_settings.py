"""Settings of a site with a third format: one line."""

from __future__ import annotations

from config.settings import *  # noqa: F403 - unchanged, except for the following
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.toy_format.ToyConfig"]
