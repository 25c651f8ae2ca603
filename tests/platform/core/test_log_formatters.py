"""The lines of the log: their form, their ids, and what stays out of them."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from celery import shared_task
from django.conf import settings as configured
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.urls import include, path
from pytest_django import Settings

from core.log_formatters import JsonFormatter, TextFormatter, log_ids
from core.request_id import request_id

log = logging.getLogger("formats.query.matches.a_test")

SHOW = "from django.conf import settings; from django.utils.log import configure_logging; import logging; "
SHOW += "configure_logging(settings.LOGGING_CONFIG, settings.LOGGING); log = logging.getLogger('rounds'); "
SHOW += "log.info('one'); log.debug('two'); logging.getLogger('docker').debug('three'); "
SHOW += "exec('try:\\n 1/0\\nexcept Exception: log.exception(chr(97) + chr(10) + chr(98))')"


def _fails(request: HttpRequest, key: str) -> HttpResponse:
    raise RuntimeError("it broke")


def _busy(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=503)


urlpatterns = [path("reset/<key>/", _fails), path("busy/", _busy), path("", include("config.urls"))]


@pytest.fixture
def written() -> Iterator[StringIO]:
    """What a handler writes that formats as JSON, of all loggers."""
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def lines(stream: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _started(state: Path, code: str, **variables: str) -> str:
    """What a program of the site writes to standard error."""
    variables |= {"PATH": os.environ["PATH"], "GAUNTLET_STATE": str(state), "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=variables, cwd=configured.ROOT, check=True, capture_output=True, text=True, timeout=120
    )
    return done.stderr


def test_each_event_is_one_line_of_json(tmp_path: Path) -> None:
    first, second = map(json.loads, _started(tmp_path, SHOW).splitlines())
    assert (first["level"], first["logger"], first["message"]) == ("INFO", "rounds", "one")
    assert first["time"].endswith("Z")
    assert (second["level"], second["message"]) == ("ERROR", "a\nb")
    assert "ZeroDivisionError" in second["traceback"]


def test_people_read_text_in_which_no_message_begins_a_line_of_its_own(tmp_path: Path) -> None:
    first, second, *traceback = _started(tmp_path, SHOW, GAUNTLET_LOG_FORMAT="text").splitlines()
    assert first.endswith("Z INFO rounds: one")
    assert second.endswith("Z ERROR rounds: a\\nb")
    assert traceback[-1] == "ZeroDivisionError: division by zero"


def test_the_level_is_that_of_the_site_and_libraries_never_debug(tmp_path: Path) -> None:
    told = {}
    for level in ("DEBUG", "ERROR"):
        stderr = _started(tmp_path, SHOW, GAUNTLET_LOG_LEVEL=level)
        told[level] = [json.loads(line)["message"] for line in stderr.splitlines()]
    assert told == {"DEBUG": ["one", "two", "a\nb"], "ERROR": ["a\nb"]}


def test_a_program_does_not_start_with_a_level_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        _started(tmp_path, SHOW, GAUNTLET_LOG_LEVEL="LOUD")
    assert "GAUNTLET_LOG_LEVEL is 'LOUD'. Set it to one of: INFO, DEBUG, WARNING, ERROR." in failed.value.stderr


def test_a_worker_logs_as_the_web_server_does(tmp_path: Path) -> None:
    code = "from config.celery import app; from celery.app.log import Logging; Logging(app).setup(loglevel='INFO'); "
    code += "import logging; logging.getLogger('rounds').info('one')"
    assert json.loads(_started(tmp_path, code))["message"] == "one"


def test_a_task_is_named_in_what_it_logs(written: StringIO, db: None) -> None:
    @shared_task(name="a_test.say")  # type: ignore[untyped-decorator]
    def say() -> None:
        log.error("said")

    given = say.apply()
    log.error("after")
    inside, after = lines(written)
    assert (inside["task"], inside["task_id"]) == ("a_test.say", given.id)
    assert "task" not in after


def test_lines_have_the_ids_of_the_work_at_hand(written: StringIO) -> None:
    with log_ids(match=3):
        with log_ids(piece=7):
            log.error("inside")
        log.error("between")
    log.error("outside")
    inside, between, outside = lines(written)
    assert (inside["match"], inside["piece"]) == (3, 7)
    assert (between["match"], "piece" in between) == (3, False)
    assert "match" not in outside


def test_text_has_the_ids_too() -> None:
    record = logging.LogRecord("matches", logging.INFO, "", 0, "played", None, None)
    with log_ids(match=3, piece=7):
        assert TextFormatter().format(record).endswith("INFO matches: played match=3 piece=7")


def test_what_a_library_attaches_to_a_record_is_not_written(written: StringIO) -> None:
    log.error("said", extra={"request": "token=hush", "password": "hush"})
    assert "hush" not in written.getvalue()


def test_an_uncaught_exception_is_logged_with_the_route_and_without_the_key_in_its_path(
    settings: Settings, caplog: pytest.LogCaptureFixture, db: None
) -> None:
    settings.ROOT_URLCONF = __name__
    answer = Client(raise_request_exception=False).get("/reset/the-secret/?also=hush")
    assert answer.status_code == 500
    [record] = caplog.records
    assert (record.levelname, record.getMessage()) == ("ERROR", "uncaught exception in /reset/<key>/")
    assert "RuntimeError: it broke" in caplog.text
    assert "the-secret" not in JsonFormatter().format(record)
    assert "hush" not in JsonFormatter().format(record)


def test_an_answer_that_says_busy_is_no_error(settings: Settings, caplog: pytest.LogCaptureFixture, db: None) -> None:
    settings.ROOT_URLCONF = __name__
    assert Client().get("/busy/").status_code == 503
    assert not caplog.records


def test_a_wrong_host_name_is_no_error_of_the_site(client: Client, caplog: pytest.LogCaptureFixture, db: None) -> None:
    assert client.get("/", headers={"Host": "elsewhere.example"}).status_code == 400
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_each_request_has_an_id_of_its_own_in_its_answer_and_in_its_lines(client: Client, db: None) -> None:
    first, second = (client.get("/status").headers["X-Request-ID"] for _ in range(2))
    assert len(first) == len(second) == 32
    assert first != second


def _answered(view: Callable[[HttpRequest], HttpResponse | StreamingHttpResponse], **headers: str) -> Any:
    return request_id(view)(RequestFactory().get("/", headers=headers))


def test_lines_of_a_request_have_its_id(written: StringIO) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        log.error("inside")
        return HttpResponse()

    answer = _answered(view)
    log.error("outside")
    inside, outside = lines(written)
    assert inside["request"] == answer.headers["X-Request-ID"]
    assert "request" not in outside


def test_what_is_logged_while_an_answer_streams_has_its_id(written: StringIO) -> None:
    def blocks() -> Iterator[bytes]:
        log.error("first")
        yield b"a"
        log.error("second")
        yield b"b"

    answer = _answered(lambda request: StreamingHttpResponse(blocks()))
    assert b"".join(answer) == b"ab"
    assert {line["request"] for line in lines(written)} == {answer.headers["X-Request-ID"]}


@pytest.mark.parametrize(
    ("proxied", "named", "taken"),
    [
        (True, "01ab-45.6_7", True),
        (False, "01ab-45.6_7", False),
        (True, "short", False),
        (True, "x" * 65, False),
        (True, "two words", False),
        (True, 'quoted"1234', False),
    ],
)
def test_only_a_proxy_of_the_site_names_an_id_and_only_a_harmless_one(
    settings: Settings, proxied: bool, named: str, taken: bool
) -> None:
    settings.PROXIED = proxied
    answer = _answered(lambda request: HttpResponse(), **{"X-Request-ID": named})
    assert (answer.headers["X-Request-ID"] == named) is taken
