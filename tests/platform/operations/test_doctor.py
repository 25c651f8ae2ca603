"""`manage.py doctor` finds what is wrong with an installation, and says what to do."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections import defaultdict
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from celery import current_app
from django.core.management import call_command
from pytest_django import Settings

from core import clock, event_log
from core.models import SiteIdentity
from core.site_identity import require_identity
from operations import doctor, queue_activity
from operations.doctor import CHECKS, CheckFinding, Level, examine
from rounds.models import SigningKey
from workers.models import Host, Worker
from workers.services import record_stop
from workers.tasks import sweep


@pytest.fixture
def running(db: None) -> Worker:
    """A site with a worker, a scorer and a backup."""
    require_identity()
    now = clock.database_now()
    event_log.record("back_up", SiteIdentity.objects.get(), snapshot="1a2b3c4d")
    worker = Worker.objects.create(name="arena-1/play/0", worker_class="cpu", started_at=now, last_seen_at=now)
    sweep()
    for queue in queue_activity.WATCHED_QUEUES:
        queue_activity.record(queue)
    return worker


def found(level: Level, *, worker: bool = False) -> dict[str, list[CheckFinding]]:
    """The findings of one level by their subject."""
    findings = defaultdict(list)
    for each in examine(worker=worker):
        if each.level == level:
            findings[each.subject].append(each)
    return dict(findings)


def printed(*arguments: str) -> str:
    output = StringIO()
    call_command("doctor", *arguments, stdout=output, no_color=True)
    return output.getvalue()


def test_a_running_site_has_no_problem(running: Worker) -> None:
    findings = json.loads(printed("--json"))
    assert [each for each in findings if each["level"] == "problem"] == []
    assert len({each["subject"] for each in findings}) == len(CHECKS)
    assert "1a2b3c4d" in next(each["text"] for each in findings if each["subject"] == "backup")


def test_a_site_of_which_only_the_web_server_runs_lacks_beat_scorer_and_workers(db: None) -> None:
    assert set(found(Level.PROBLEM)) == {"sweep", "queues", "workers"}
    with pytest.raises(SystemExit, match="1"):
        printed()
    assert "backup" in found(Level.WARNING)


def test_a_sweep_of_long_ago_is_none(running: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    later = clock.now() + timedelta(minutes=3)
    monkeypatch.setattr(clock, "now", lambda: later)
    (finding,) = found(Level.PROBLEM)["sweep"]
    assert "3 min ago" in finding.text


def test_a_queue_whose_worker_is_gone_is_a_problem(running: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    later = clock.now() + timedelta(minutes=3)
    monkeypatch.setattr(clock, "now", lambda: later)
    queue_activity.record("files")
    (finding,) = found(Level.PROBLEM)["queues"]
    assert finding.text == "no worker has taken a task of `webhooks` for 3 min: webhooks are not sent"
    assert "start a worker of the queue `webhooks`" in finding.fix


def test_beat_sends_tasks_to_the_queues_that_are_watched() -> None:
    schedule = current_app.conf.beat_schedule.values()
    routed = [(current_app.amqp.router.route({}, each["task"])["queue"].name, each["schedule"]) for each in schedule]
    for queue in queue_activity.WATCHED_QUEUES:
        assert any(name == queue and isinstance(every, float) and every <= 30 for name, every in routed), queue


def test_without_tables_nothing_else_is_checked(root: Path, tmp_path: Path) -> None:
    state = {"GAUNTLET_STATE": str(tmp_path / "new"), "DATABASE_URL": "", "GAUNTLET_BROKER": ""}
    command = [sys.executable, "manage.py", "doctor", "--worker"]
    done = subprocess.run(command, cwd=root, env=os.environ | state, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    problem, fix = done.stdout.splitlines()
    assert re.fullmatch(r"problem  database: the database lacks \d+ migrations", problem)
    assert fix.strip() == "fix: run: manage.py migrate"


def test_the_folder_of_another_site_is_a_problem(running: Worker, settings: Settings) -> None:
    (settings.STATE / "site-identity").write_text("another\n")
    (finding,) = found(Level.PROBLEM)["state folder"]
    assert "another" in finding.text
    assert "GAUNTLET_STATE" in finding.fix


def test_a_lost_signing_key_is_a_problem(running: Worker) -> None:
    SigningKey.objects.create(public="0" * 64, made_at=clock.now())
    (finding,) = found(Level.PROBLEM)["signing key"]
    assert "restore the file signing-key" in finding.text


def test_a_mail_server_that_does_not_answer_is_a_problem(running: Worker, settings: Settings) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        settings.EMAIL_HOST, settings.EMAIL_PORT = nobody.getsockname()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    (finding,) = found(Level.PROBLEM)["mail"]
    assert "GAUNTLET_EMAIL_HOST" in finding.fix


def test_hosts_out_of_service_and_wrong_clocks_are_named(running: Worker) -> None:
    Host.objects.create(name="arena-2", out_since=clock.now(), problem="the disk is full", check_due_at=clock.now())
    Worker.objects.update(clock_skew=-7.5)
    (problem,) = found(Level.PROBLEM)["workers"]
    assert "arena-2 is out of service: the disk is full" in problem.text
    (warning,) = found(Level.WARNING)["workers"]
    assert "-7.5 s" in warning.text


def test_workers_that_have_stopped_are_a_problem_where_work_waits(
    running: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster ends its workers when nothing waits. One without a heartbeat was killed."""
    record_stop([running.name])
    (finding,) = found(Level.OK)["workers"]
    assert "all have stopped" in finding.text
    with monkeypatch.context() as patch:
        patch.setattr(doctor, "anything_waits", lambda: True)
        assert "nothing is played" in found(Level.PROBLEM)["workers"][0].text
    Worker.objects.update(stopped_at=None, last_seen_at=clock.database_now() - timedelta(minutes=2))
    assert "nothing is played" in found(Level.PROBLEM)["workers"][0].text


def test_a_check_that_fails_unexpectedly_is_a_problem_and_the_others_go_on(
    running: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: object) -> None:
        raise OSError("the file system has gone")

    monkeypatch.setattr(shutil, "disk_usage", broken)
    assert [finding.text for finding in found(Level.PROBLEM)["disk"]] == ["OSError: the file system has gone"]
    assert "backup" in found(Level.OK)


def test_a_worker_host_is_checked_with_its_sandbox(running: Worker) -> None:
    (finding,) = found(Level.OK, worker=True)["this host"]
    assert "process" in finding.text
