"""The WSGI entry point: `config.wsgi:application`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.site_identity_check import require_site
from config.stack_room import with_stack_room

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_answer = get_wsgi_application()


@with_stack_room
def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer a request."""
    return _answer(environ, start_response)


import_module(settings.ROOT_URLCONF)  # before processes are forked, which share it, and before the first request
require_site()
