"""The WSGI entry point: `config.wsgi:application`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.site_identity_check import require_site

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_answer = get_wsgi_application()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer a request, in one piece of the interpreter's stack.

    Python 3.11 maps the stack of its frames in pieces of 16 KiB or what one frame needs. Where a call in a loop begins
    another piece, each of them maps and unmaps it, for up to a third of a page's processor time. The frame of this
    function takes 1 MiB, of which none is touched, and the piece has as much for all frames in it.
    """
    return _answer(environ, start_response)


application.__code__ = application.__code__.replace(co_stacksize=1 << 17)
import_module(settings.ROOT_URLCONF)  # before processes are forked, which share it, and before the first request
require_site()
