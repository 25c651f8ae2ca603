"""Downloads of archives, of which a web process makes only a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import IO

from django.http import FileResponse, HttpResponse, HttpResponseBase

from core.concurrent_archive_limit import RETRY_SECONDS, ArchivesBusyError


def archive_download(open_file: Callable[[], IO[bytes]], name: str, content_type: str) -> HttpResponseBase:
    """Return the file that `open_file` opens or makes, as a download; 503 while too many others are being made."""
    try:
        file = open_file()
    except ArchivesBusyError as busy:
        return HttpResponse(
            f"{busy}\n",
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            content_type="text/plain; charset=utf-8",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )
    return FileResponse(file, as_attachment=True, filename=name, content_type=content_type)
