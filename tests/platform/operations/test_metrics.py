"""`/metrics` says what the database says, to who has the token."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings
from pytest_django.fixtures import DjangoAssertNumQueries

from accounts.models import User
from core import clock, event_log
from core.models import SiteIdentity
from core.site_identity import require_identity
from operations import queue_activity
from pages.formats import page_formats
from repositories.models import Repository
from submissions.models import Submission
from workers.models import Host, Worker
from workers.selectors import hosts_out_of_service
from workers.tasks import sweep

TOKEN = "a token of this test"  # noqa: S105


@pytest.fixture(autouse=True)
def _token(settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN


def scrape(client: Client) -> dict[tuple[str, ...], float]:
    """The value of each sample, by its name and the values of its labels."""
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    samples = [each for family in families for each in family.samples]
    found = {(each.name, *each.labels.values()): each.value for each in samples}
    assert len(found) == len(samples), "Prometheus rejects a sample that is there twice"
    return found


@pytest.fixture
def running(repositories: dict[str, Repository], alice: User) -> Submission:
    """A site with a worker, a host that was taken out, a sweep and a backup; and a submission that waits."""
    require_identity()
    now = clock.database_now()
    event_log.record("back_up", SiteIdentity.objects.get(), snapshot="1a2b3c4d")
    Worker.objects.create(name="arena-1/play/0", worker_class="cpu", started_at=now, last_seen_at=now)
    Worker.objects.create(
        name="arena-3/play/0", worker_class="cpu", started_at=now, last_seen_at=now - timedelta(hours=2)
    )
    Host.objects.create(name="arena-2", out_since=now, problem="the disk is full")
    sweep()
    queue_activity.record("files")
    return Submission.objects.create(
        repository=repositories["model"], submitted_by=alice, commit="1" * 40, tag="submission-1",
        state=Submission.UNDER_WAY[0], received_at=now, state_since=now,
    )  # fmt: skip


def test_they_are_what_the_database_says(client: Client, running: Submission) -> None:
    found = scrape(client)
    assert found["gauntlet_workers_live", "cpu"] == 1
    assert found["gauntlet_workers_live", "gpu"] == 0
    assert found[("gauntlet_workers_lost",)] == 1
    assert found[("gauntlet_hosts_out_of_service",)] == 1
    assert found["gauntlet_submissions", running.state] == 1
    assert {found["gauntlet_queue_items", name, "waiting"] for name in page_formats} == {0}
    assert found["gauntlet_queue_items", "builds", "waiting or claimed"] == 1
    assert 0 <= found[("gauntlet_last_sweep_age_seconds",)] < 600
    assert 0 <= found["gauntlet_last_task_age_seconds", "files"] < 600
    assert ("gauntlet_last_task_age_seconds", "webhooks") not in found
    assert 0 <= found[("gauntlet_last_backup_age_seconds",)] < 600
    assert found[("gauntlet_state_free_bytes",)] > 0


def test_a_host_that_is_gone_is_not_out_of_service_for_good(client: Client, running: Submission) -> None:
    """Nobody can delete its row, and no check would end the alert."""
    waited = clock.database_now() - timedelta(days=1, minutes=1)
    Host.objects.create(name="sold", out_since=waited, check_due_at=waited, problem="no engine")
    assert [each.name for each in hosts_out_of_service()] == ["arena-2"]
    assert scrape(client)[("gauntlet_hosts_out_of_service",)] == 1
    Host.objects.filter(name="sold").update(check_due_at=clock.database_now() - timedelta(hours=23))
    assert scrape(client)[("gauntlet_hosts_out_of_service",)] == 2


def test_the_age_of_what_never_happened_is_absent(client: Client, db: None) -> None:
    assert not {name for name, *_ in scrape(client)} & {
        "gauntlet_last_sweep_age_seconds", "gauntlet_last_backup_age_seconds", "gauntlet_queue_oldest_age_seconds"
    }  # fmt: skip


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer another", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_without_the_token_there_is_no_such_page(client: Client, db: None, header: str) -> None:
    assert client.get("/metrics", headers={"Authorization": header}).status_code == 404


def test_without_the_setting_there_is_no_such_page(client: Client, db: None, settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_the_alerts_use_metrics_that_there_are(client: Client, running: Submission, root: Path) -> None:
    rules = (root / "deploy" / "monitoring" / "alerts.yml").read_text()
    used = set(re.findall(r"gauntlet_\w+", rules))
    assert len(used) >= 6
    assert used <= {name for name, *_ in scrape(client)}


def test_the_dashboard_shows_each_metric(client: Client, running: Submission, root: Path) -> None:
    panels = json.loads((root / "deploy" / "monitoring" / "grafana.json").read_text())["panels"]
    shown = {
        name for panel in panels for each in panel["targets"] for name in re.findall(r"gauntlet_\w+", each["expr"])
    }
    # absent where nothing of it has happened
    later = {"gauntlet_last_sweep_age_seconds", "gauntlet_last_backup_age_seconds", "gauntlet_rounds"}
    assert shown == {name for name, *_ in scrape(client) if name.startswith("gauntlet_")} | later
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_a_scrape_takes_few_queries(
    client: Client, running: Submission, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(40):
        scrape(client)
