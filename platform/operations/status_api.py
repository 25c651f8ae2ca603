"""The status of the site in the API: what its status page shows to everyone."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.base_views import ApiView
from pages.status.status_page_data import WorkerLine, builds, formats_played, incidents, last_score_at, worker_lines
from workers.selectors import hosts_out_of_service


class IncidentSerializer(serializers.Serializer[Any]):
    """Something that delays results. `grave`: nothing is played."""

    title = serializers.CharField()
    text = serializers.CharField()
    grave = serializers.BooleanField()


class QueueSerializer(serializers.Serializer[Any]):
    """Work of a format: what waits, since when the oldest does, and what workers hold."""

    title = serializers.CharField()
    waiting = serializers.IntegerField()
    claimed = serializers.IntegerField()
    oldest_since = serializers.DateTimeField(allow_null=True)


class BuildsSerializer(serializers.Serializer[Any]):
    """Submissions that are not built and checked, and since when the oldest waits."""

    count = serializers.IntegerField()
    oldest_since = serializers.DateTimeField(allow_null=True)


class WorkerSerializer(serializers.Serializer[WorkerLine]):
    """A program that plays submissions, without its name. `factor` multiplies the time limits of the rules."""

    hardware = serializers.CharField(source="worker.get_worker_class_display")
    online = serializers.BooleanField(source="live")
    out_of_service = serializers.BooleanField()
    factor = serializers.FloatField(source="worker.calibration")
    last_seen_at = serializers.DateTimeField(source="worker.last_seen_at")
    playing = serializers.IntegerField(source="held")


class StatusSerializer(serializers.Serializer[Any]):
    """The state of the site. `hosts_out_of_service` is the number of hosts that claim no work."""

    incidents = IncidentSerializer(many=True)
    hosts_out_of_service = serializers.IntegerField()
    queues = QueueSerializer(many=True)
    builds = BuildsSerializer()
    last_score_at = serializers.DateTimeField(allow_null=True)
    workers = WorkerSerializer(many=True)


class ShowStatus(ApiView):
    """The state of the site: incidents, queues and workers, without names of teams, players and hosts."""

    @extend_schema(responses=StatusSerializer)
    def get(self, request: Request) -> Response:
        """Return it."""
        formats = formats_played()
        workers, queues = worker_lines(formats), [each.queue() for each in formats]
        shown = {
            "incidents": incidents(formats, workers, queues),
            "hosts_out_of_service": len(hosts_out_of_service()),
            "queues": queues,
            "builds": builds(),
            "last_score_at": last_score_at(formats),
            "workers": workers,
        }
        return Response(StatusSerializer(shown).data)
