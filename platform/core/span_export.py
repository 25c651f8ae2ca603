"""Export of spans by OTLP over HTTP, with OpenTelemetry; loaded only with `GAUNTLET_TRACES`, by `submission_traces`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextvars import ContextVar

from django.conf import settings
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags, set_span_in_context

from core.submission_traces import Span, SpanId

log = logging.getLogger(__name__)

MOST_WAITING = 2048
"""Spans of a process that wait to be sent; of more, the oldest are dropped. They are sent together, so that a process
waits for one request when it ends."""
PAUSE_SECONDS = 2.0
TIMEOUT_SECONDS = 5.0

_made: ContextVar[SpanId] = ContextVar("made")


class SpanExport:
    """Sends spans in a thread of its own."""

    def __init__(self) -> None:
        resource = {"service.name": "gauntlet", "service.instance.id": settings.WORKER_NAME}
        # it also sends at the end of a process, but not in one that Celery ends
        self._provider = TracerProvider(resource=Resource.create(resource), id_generator=_GivenIds())
        self._provider.add_span_processor(
            BatchSpanProcessor(
                _ReportingExporter(f"{settings.TRACES}/v1/traces", timeout=TIMEOUT_SECONDS),
                max_queue_size=MOST_WAITING,
                max_export_batch_size=MOST_WAITING,
                schedule_delay_millis=1000 * PAUSE_SECONDS,
            )
        )
        self._tracer = self._provider.get_tracer("gauntlet")

    def send(self, step: Span, parent: SpanId, others: Iterable[SpanId] = ()) -> None:
        """Send a step that has ended. It is below `parent`, or the root of its trace if that has no number."""
        token = _made.set(SpanId(parent.trace, step.number))
        try:
            span = self._tracer.start_span(
                step.name,
                context=set_span_in_context(NonRecordingSpan(_context(parent))),
                attributes=step.attributes,
                links=[Link(_context(other)) for other in others],
                start_time=step.began,
            )
        finally:
            _made.reset(token)
        if step.failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end(step.ended)

    def close(self) -> None:
        """Send what waits, and take no more."""
        self._provider.shutdown()


class _ReportingExporter(OTLPSpanExporter):
    """Logs when the collector stops to take spans, and when it takes them again: OpenTelemetry says it each time."""

    _taken = True

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        taken = result is SpanExportResult.SUCCESS
        if self._taken and not taken:
            log.warning("the collector of traces takes no spans; they are dropped. See GAUNTLET_TRACES")
        if taken and not self._taken:
            log.info("the collector of traces takes spans again")
        self._taken = taken
        return result


class _GivenIds(IdGenerator):
    """The ids of the step that is being sent."""

    def generate_span_id(self) -> int:
        return _made.get().span

    def generate_trace_id(self) -> int:
        return _made.get().trace


def _context(of: SpanId) -> SpanContext:
    return SpanContext(of.trace, of.span, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
