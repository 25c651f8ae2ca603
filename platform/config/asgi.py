"""The ASGI entry point: `config.asgi:application`."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from config.site_identity_check import require_site

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()
require_site()
