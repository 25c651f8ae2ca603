"""The WSGI entry point: `config.wsgi:application`."""

from __future__ import annotations

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.site_identity_check import require_site

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
import_module(settings.ROOT_URLCONF)  # before processes are forked, which share it, and before the first request
require_site()
