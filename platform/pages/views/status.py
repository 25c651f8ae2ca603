"""Status page: incidents, queue and workers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from competitions.models import Competition
from core.administration.permissions import is_superuser_or_organiser
from pages import polling
from pages.selectors import queue
from pages.site_status import incidents, last_score_at, worker_lines
from tournaments.selectors import run_queue
from workers.selectors import hosts_out_of_service

STATUS_EVERY = 5


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Show incidents, the queue, and the workers with their last heartbeat, without names of teams or players.

    Only organisers see host names and clock offsets: they describe the internals of the site.
    """
    known, runs = worker_lines(), run_queue()
    context = {
        "workers": known,
        "incidents": incidents(known, runs),
        "last_score_at": last_score_at(),
        "queue": queue(),
        "runs": runs,
        "formats": set(Competition.objects.values_list("format", flat=True)),
        "out_of_service": hosts_out_of_service(),
        "for_organisers": is_superuser_or_organiser(request),
    }
    framed = polling.live_part(request, "pages/parts/status.html", context, every=STATUS_EVERY)
    if polling.is_poll(request):
        return polling.answer(request, framed)
    return render(request, "pages/status.html", {"live_status": framed.html})
