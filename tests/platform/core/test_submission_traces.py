"""Traces of submissions, as a collector receives them."""

from __future__ import annotations

import json
import logging
import multiprocessing
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from celery import signals
from django.db import transaction
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import issue_token
from competitions.models import Track
from config import celery
from core import span_export, submission_traces, worker_notifications
from core.log_formatters import JsonFormatter
from demo.git_push import push_copy
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.scoring import score_finished
from formats.query.matches import player_builds
from formats.query.matches.models import Match
from submissions import pipeline
from submissions.models import Submission
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.worker_loop import play

CLOSED = "http://127.0.0.1:9"
"""The port of the service `discard`, which no host has any more."""


class Collector(ThreadingHTTPServer):
    """A collector of OpenTelemetry that keeps what it receives, of any process."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receive)
        self.spans: list[Span] = []
        self.address = f"http://127.0.0.1:{self.server_port}"

    def named(self, name: str) -> list[Span]:
        """Return the spans of this name."""
        return [span for span in self.spans if span.name == name]


class _Receive(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        request = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/traces"
        self.server.spans += [span for of in request.resource_spans for each in of.scope_spans for span in each.spans]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing was traced before, and a test waits for no collector."""
    monkeypatch.setattr(submission_traces, "_exports", {})
    monkeypatch.setattr(span_export, "TIMEOUT_SECONDS", 0.5)
    submission_traces._site.cache_clear()
    yield
    submission_traces.close()
    submission_traces._site.cache_clear()


@pytest.fixture
def collector(settings: Settings) -> Iterator[Collector]:
    """A collector to which the site sends."""
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        settings.TRACES = server.address
        yield server
        server.shutdown()
        thread.join()


def attributes_of(span: Span) -> dict[str, str | int]:
    values = {each.key: each.value for each in span.attributes}
    return {key: value.string_value or value.int_value for key, value in values.items()}


@pytest.mark.slow(10)
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("sample_sets", "entry")
def test_a_submission_has_one_trace_from_its_push_to_its_score(
    collector: Collector,
    tracks: dict[str, Track],
    alice: User,
    live_server: LiveServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: None)
    noise = player_builds.baseline_player(tracks["untargeted"], "gaussian-noise", lambda line: None)
    services.set_pool(track=tracks["untargeted"], players=[noise], reason="a test")
    _, token = issue_token(user=alice, name="laptop", scopes=["read", "submit"], days=1)
    address = live_server.url.replace("://", f"://alice:{token}@") + "/git/owls/model.git"
    push_copy("numpy-classifier", address, author="Alice")
    submission = Submission.objects.get()
    pipeline.advance()
    submission.refresh_from_db()
    assert submission.state == Submission.State.READY, submission.problem
    services.evaluate(submission)
    now = submission.received_at
    worker = Worker.objects.create(name="one/0", worker_class="cpu", started_at=now, last_seen_at=now)
    with WorkerHeartbeat(worker) as heartbeat:
        while Evaluation.objects.get().matches.exclude(state=Match.State.PLAYED):
            play(worker, heartbeat, seconds=30.0)
    assert score_finished() == 1
    submission_traces.close()

    steps = [span.name for span in sorted(collector.spans, key=lambda span: span.start_time_unix_nano)]
    played = ["piece"] * 3
    assert steps == [
        "git push", "gate check", "submit", "build attempt", "build", "smoke test", *played, "audit", "score",
    ]  # fmt: skip
    first = submission_traces.root_span_id(submission.pk)
    assert {span.trace_id for span in collector.spans} == {first.trace.to_bytes(16)}
    (root,) = (span for span in collector.spans if not span.parent_span_id)
    assert (root.name, root.span_id) == ("git push", first.span.to_bytes(8))
    (attempt,) = collector.named("build attempt")
    for span in collector.spans:
        below = attempt if span.name in ("build", "smoke test") else root
        assert span is root or span.parent_span_id == below.span_id
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
    assert attributes_of(root).keys() == {"request"}
    assert attributes_of(attempt)["outcome"] == "ready"
    match = Evaluation.objects.get().matches.get()
    for piece in collector.named("piece"):
        known = attributes_of(piece)
        assert (known["kind"], known["match"], known["worker"]) == ("pieces", match.pk, "one/0")
        assert known["outcome"] == "played"
    assert attributes_of(collector.named("score")[0])["outcome"] == "scored"


@pytest.mark.django_db
def test_a_step_of_several_submissions_is_in_the_trace_of_the_first_with_links_to_the_others(
    collector: Collector,
) -> None:
    with submission_traces.span("piece", lambda: [7, 8]), submission_traces.span("inside"):
        pass
    submission_traces.close()
    inside, piece = collector.spans
    other = submission_traces.root_span_id(8)
    assert [(link.trace_id, link.span_id) for link in piece.links] == [
        (other.trace.to_bytes(16), other.span.to_bytes(8))
    ]
    assert inside.trace_id == piece.trace_id == submission_traces.root_span_id(7).trace.to_bytes(16)
    assert inside.parent_span_id == piece.span_id


@pytest.mark.django_db
def test_lines_of_the_log_within_a_step_have_the_id_of_its_trace(collector: Collector) -> None:
    line = logging.makeLogRecord({"msg": "played"})
    with submission_traces.span("piece", lambda: [7]):
        written = json.loads(JsonFormatter().format(line))
    assert written["trace_id"] == f"{submission_traces.root_span_id(7).trace:032x}"
    assert "trace_id" not in json.loads(JsonFormatter().format(line))


@pytest.mark.django_db
def test_a_failed_step_says_of_what_kind_the_failure_was_and_not_its_text(collector: Collector) -> None:
    with pytest.raises(ValueError, match="a secret"), submission_traces.span("piece", lambda: [7]):
        raise ValueError("a secret")
    submission_traces.close()
    (span,) = collector.spans
    assert span.status.code == Status.STATUS_CODE_ERROR
    assert attributes_of(span) == {"outcome": "failed", "error.type": "ValueError"}
    assert b"a secret" not in span.SerializeToString()


@pytest.mark.django_db(transaction=True)
def test_what_is_not_committed_and_what_belongs_to_no_submission_is_not_in_a_trace(collector: Collector) -> None:
    with transaction.atomic():
        submission_traces.span_of_commit("score", 7)
        transaction.set_rollback(True)
    with submission_traces.span("inside of nothing"), submission_traces.span("run of a bundled attack", list):
        pass
    push = submission_traces.RootSpan("git push")
    with push.step("gate check"):
        pass
    push.end()
    with transaction.atomic():
        submission_traces.span_of_commit("score", 8)
    submission_traces.close()
    assert [span.name for span in collector.spans] == ["score"]


@pytest.mark.django_db
def test_a_collector_that_is_away_costs_spans_and_one_line_of_the_log(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.TRACES = CLOSED
    for _ in range(2):
        with submission_traces.span("piece", lambda: [7]):
            pass
        submission_traces._export()._provider.force_flush()
    submission_traces.close()
    warned = [record.getMessage() for record in caplog.records if record.name == "core.span_export"]
    assert warned == ["the collector of traces takes no spans; they are dropped. See GAUNTLET_TRACES"]


def test_work_goes_on_where_its_submissions_cannot_be_read(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> list[int]:
        raise OSError("the database is away")

    done = False
    with submission_traces.span("piece", away):
        done = True
    assert done
    assert [record.getMessage() for record in caplog.records] == ["a step is missing in a trace"]


@pytest.mark.django_db
def test_a_process_that_celery_forks_sends_its_own_spans_before_it_ends(collector: Collector) -> None:
    with submission_traces.span("before the fork", lambda: [7]):
        pass
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # a fork beside threads, from 3.12 on
        child = multiprocessing.get_context("fork").Process(target=_in_a_child)
        child.start()
    child.join()
    assert child.exitcode == 0
    assert [span.name for span in collector.named("in a child")] == ["in a child"]
    submission_traces.close()
    assert sorted(span.name for span in collector.spans) == ["before the fork", "in a child"]


def _in_a_child() -> None:
    with submission_traces.span("in a child", lambda: [7]):
        pass
    assert celery.send_traces in [receiver() for _, receiver in signals.worker_process_shutdown.receivers]
    signals.worker_process_shutdown.send(None)
