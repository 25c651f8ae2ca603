"""The state of the site as metrics of Prometheus, read from the database at each scrape.

Every web process gives the same answer, so the metrics need no place that processes share.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from core import clock
from core.disk_space import free_bytes
from operations import queue_activity
from operations.backups.services import last_backup
from pages.formats import page_formats
from pages.status.status_page_data import builds, formats_played, incidents, worker_lines
from rounds.models import Round
from submissions.models import Submission
from workers.selectors import hosts_out_of_service, last_sweep


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all metrics to a client with the token GAUNTLET_METRICS_TOKEN; without the setting there is no page."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    if not settings.METRICS_TOKEN or not hmac.compare_digest(given.encode(), settings.METRICS_TOKEN.encode()):
        raise Http404
    registry = CollectorRegistry()
    registry.register(SiteCollector())
    return HttpResponse(
        generate_latest(registry), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"}
    )


class SiteCollector(Collector):
    """What the database says of queues, workers, rounds, incidents and backups now."""

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics. Ages are in seconds; one of what never happened is absent."""
        yield _database()
        yield from _queues()
        yield _counted("gauntlet_submissions", "Submissions by state.", "state", Submission.objects.all())
        yield _counted("gauntlet_rounds", "Rounds by state.", "state", Round.objects.all())
        yield GaugeMetricFamily(
            "gauntlet_hosts_out_of_service", "Worker hosts that take no work.", len(hosts_out_of_service())
        )
        yield GaugeMetricFamily(
            "gauntlet_state_free_bytes", "Free bytes of the disk of the state folder.", free_bytes()
        )
        yield from _age("gauntlet_last_sweep_age_seconds", "Since a scorer swept, as beat asks it to.", last_sweep())
        yield _activity()
        backup = last_backup()
        yield from _age(
            "gauntlet_last_backup_age_seconds", "Since the site was backed up.", backup.at if backup else None
        )


def _database() -> Metric:
    begun = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    seconds = time.perf_counter() - begun
    return GaugeMetricFamily("gauntlet_database_answer_seconds", "Time of a query that reads no table.", seconds)


def _queues() -> Iterator[Metric]:
    items = GaugeMetricFamily(
        "gauntlet_queue_items", "Items by queue (a format, or builds) and state.", labels=["queue", "state"]
    )
    oldest = GaugeMetricFamily("gauntlet_queue_oldest_age_seconds", "Age of the oldest waiting item.", labels=["queue"])
    queues = {name: page_formats[name].queue() for name in page_formats}
    for name, queue in queues.items():
        items.add_metric([name, "waiting"], queue.waiting)
        items.add_metric([name, "claimed"], queue.claimed)
        if queue.oldest_since is not None:
            oldest.add_metric([name], _seconds_since(queue.oldest_since))
    building = builds()
    items.add_metric(["builds", "waiting or claimed"], building.count)
    if building.oldest_since is not None:
        oldest.add_metric(["builds"], _seconds_since(building.oldest_since))
    yield items
    yield oldest
    formats = formats_played()
    lines = worker_lines(formats)
    live = GaugeMetricFamily("gauntlet_workers_live", "Workers with a recent heartbeat.", labels=["worker_class"])
    for worker_class in ("cpu", "gpu"):
        live.add_metric([worker_class], sum(each.live and each.worker.worker_class == worker_class for each in lines))
    yield live
    lost = sum(not each.live for each in lines)
    yield GaugeMetricFamily("gauntlet_workers_lost", "Workers of the last day without heartbeat, not stopped.", lost)
    found = incidents(formats, lines, list(queues.values()))
    yield GaugeMetricFamily("gauntlet_incidents", "Incidents that the status page shows.", len(found))


def _activity() -> Metric:
    ages = GaugeMetricFamily(
        "gauntlet_last_task_age_seconds", "Since a worker took a task of the queue, as beat sends.", labels=["queue"]
    )
    for queue in queue_activity.WATCHED_QUEUES:
        taken = queue_activity.last_task(queue)
        if taken is not None:
            ages.add_metric([queue], _seconds_since(taken))
    return ages


def _counted(name: str, text: str, column: str, rows: QuerySet[Any]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[column])
    for value, number in rows.order_by().values_list(column).annotate(Count("pk")):
        family.add_metric([value], number)
    return family


def _age(name: str, text: str, moment: datetime | None) -> Iterator[Metric]:
    if moment is not None:
        yield GaugeMetricFamily(name, text, _seconds_since(moment))


def _seconds_since(moment: datetime) -> float:
    return max(0.0, (clock.now() - moment).total_seconds())
