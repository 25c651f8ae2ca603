"""Platform errors: logged once, with a traceback, and mailed to the operators without flooding them."""

from __future__ import annotations

import logging

import pytest
from django.core import mail
from django.core.checks import run_checks
from django.core.mail.backends.locmem import EmailBackend
from pytest_django import Settings

from api.errors import answer
from core import platform_error_report
from core.errors import Fault

log = logging.getLogger("a_test")


def _raised(text: str = "the disk is full") -> Fault:
    try:
        raise Fault(text)
    except Fault as fault:
        return fault


class BrokenServer(EmailBackend):
    """Answers nobody."""

    def send_messages(self, messages: object) -> int:
        raise ConnectionRefusedError("no mail server")


@pytest.fixture
def operators(settings: Settings) -> None:
    """Two operators."""
    settings.ADMINS = [("ops@example.org", "ops@example.org"), ("night@example.org", "night@example.org")]


def test_a_fault_is_logged_at_error_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    platform_error_report.report(log, _raised(), "piece %s could not be played", 7)
    [record] = caplog.records
    assert (record.levelname, record.getMessage()) == ("ERROR", "piece 7 could not be played")
    assert record.exc_info is not None
    assert "in _raised" in caplog.text
    assert "the disk is full" in caplog.text


def test_a_fault_that_is_caught_twice_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    fault = _raised()
    platform_error_report.report(log, fault, "below")
    platform_error_report.report(log, fault, "above")
    platform_error_report.report(log, _raised(), "another")
    assert caplog.messages == ["below", "another"]


@pytest.mark.usefixtures("operators")
def test_operators_are_mailed_an_error_and_its_traceback() -> None:
    platform_error_report.report(log, _raised(), "piece %s could not be played", 7)
    [message] = mail.outbox
    assert message.to == ["ops@example.org", "night@example.org"]
    assert message.subject.startswith("[Gauntlet] ERROR on ")
    assert message.subject.endswith(": piece 7 could not be played")
    assert "Fault: the disk is full" in message.body


@pytest.mark.usefixtures("operators")
def test_a_host_that_stays_broken_sends_one_mail(settings: Settings) -> None:
    for piece in range(1000):
        platform_error_report.report(log, _raised(f"no engine for {piece}"), "piece %s could not be played", piece)
    assert len(mail.outbox) == 1
    platform_error_report.report(log, OSError("elsewhere"), "piece %s could not be played", 7)
    platform_error_report.report(log, _raised(), "another trouble")
    assert len(mail.outbox) == 3


@pytest.mark.usefixtures("operators")
def test_warnings_are_not_mailed() -> None:
    log.warning("nothing to do")
    assert not mail.outbox


@pytest.mark.usefixtures("operators")
def test_a_message_of_several_lines_forges_no_headers_of_a_mail() -> None:
    platform_error_report.report(log, _raised(), "%s failed", "a\r\nBcc: everybody@example.org")
    [message] = mail.outbox
    assert message.subject.endswith(": a")


@pytest.mark.usefixtures("operators")
def test_a_mail_server_that_is_away_disturbs_nothing(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.BrokenServer"
    platform_error_report.report(log, _raised(), "piece 7 could not be played")
    assert sorted(caplog.messages) == ["an error could not be mailed to the operators", "piece 7 could not be played"]


@pytest.mark.usefixtures("operators")
def test_without_the_cache_each_process_still_sends_one_mail(settings: Settings) -> None:
    settings.CACHES = {"default": {"BACKEND": "config.json_cache.JsonRedisCache", "LOCATION": "redis://127.0.0.1:9/0"}}
    for _ in range(3):
        platform_error_report.report(log, _raised(), "piece 7 could not be played")
    assert len(mail.outbox) == 1


def test_without_operators_nobody_is_mailed(operators: None, settings: Settings) -> None:
    settings.ADMINS = []
    platform_error_report.report(log, _raised(), "piece 7 could not be played")
    assert not mail.outbox


def test_the_site_warns_where_errors_cannot_be_mailed(settings: Settings) -> None:
    settings.ADMINS = [("ops@example.org", "ops@example.org")]
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert "core.W002" in [message.id for message in run_checks()]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert "core.W002" not in [message.id for message in run_checks()]


def test_a_fault_in_the_api_is_reported_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    response = answer(_raised(), {})
    assert response is not None
    assert response.status_code == 503
    [record] = caplog.records
    assert (record.levelname, record.name) == ("ERROR", "api.errors")
    assert record.exc_info is not None
