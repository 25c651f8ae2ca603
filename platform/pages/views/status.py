"""The status page: who works, and what waits."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.administration.permissions import is_superuser_or_organiser
from matches.selectors import workers
from pages import polling
from pages.selectors import queue
from submissions.selectors import hosts_out_of_service

STATUS_EVERY = 5


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Workers with their last sign of life, and the queue. For everyone: no team and no player is named.

    Organisers also see the names of hosts, which tell strangers how the site is built, and how far clocks are off.
    """
    context = {
        "workers": workers(),
        "queue": queue(),
        "out_of_service": hosts_out_of_service(),
        "for_organisers": is_superuser_or_organiser(request),
    }
    framed = polling.part(request, "pages/parts/status.html", context, every=STATUS_EVERY)
    if polling.asked(request):
        return polling.answer(request, framed)
    return render(request, "pages/status.html", {"live_status": framed.html})
