"""Status page: incidents, queue and workers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.administration.admin_base_classes import is_superuser_or_organiser
from pages import polling
from pages.status.status_page_data import builds, formats_played, incidents, last_score_at, worker_lines
from workers.selectors import hosts_out_of_service, live_hosts

STATUS_EVERY = 5


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Show incidents, the queue, and the workers with their last heartbeat, without names of teams or players.

    Only organisers see host names and clock offsets: they describe the internals of the site.
    """
    formats = formats_played()
    workers, queues = worker_lines(formats), [each.queue() for each in formats]
    waiting = builds()
    context = {
        "workers": workers,
        "incidents": incidents(formats, workers, queues),
        "last_score_at": last_score_at(formats),
        "queues": queues,
        "builds": waiting,
        "busy": bool(waiting.count or any(each.waiting or each.claimed for each in queues)),
        "out_of_service": hosts_out_of_service(),
        "compares_hosts": len(live_hosts()) > 1,
        "for_organisers": is_superuser_or_organiser(request),
    }
    framed = polling.live_part(request, "pages/status/live_status.html", context, every=STATUS_EVERY)
    if polling.is_poll(request):
        return polling.answer(request, framed)
    return render(request, "pages/status/status.html", {"live_status": framed.html})
