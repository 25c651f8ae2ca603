"""Versions of tables, which say whether anything changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction

from competitions.models import Competition, Organiser
from core import clock, table_versions
from core.models import TableChange
from core.table_versions import FOLD_EACH, fold, versions, watched_tables
from core.tasks import fold_table_changes
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.services import record_worker

TABLE = "competitions_competition"


@contextmanager
def changes_of(*tables: str) -> Iterator[None]:
    """The block changes the versions of these tables, and no other."""
    before = versions()
    yield
    after = versions()
    assert {table for table in watched_tables() if before.get(table) != after.get(table)} == set(tables)


@pytest.mark.parametrize(
    "change",
    [
        lambda: Competition.objects.update(title="Other"),
        lambda: Competition.objects.bulk_update([*Competition.objects.all()], ["title"]),
        lambda: Competition.objects.get().save(),
        lambda: connection.cursor().execute(f"UPDATE {TABLE} SET title = 'Other'"),  # noqa: S608 - a constant
    ],
    ids=["update", "bulk update", "save", "SQL"],
)
def test_every_way_to_change_a_row_changes_the_version_of_its_table(
    competition: Competition, change: Callable[[], object]
) -> None:
    with changes_of(TABLE):
        change()


def test_rows_that_come_and_go_change_it(competition: Competition, olga: object) -> None:
    with changes_of("competitions_organiser"):
        Organiser.objects.all().delete()
    with changes_of(TABLE):
        competition.pk, competition.slug = None, "other"
        Competition.objects.bulk_create([competition])


def test_statements_that_change_nothing_do_not(competition: Competition) -> None:
    with changes_of():
        Competition.objects.filter(slug="unknown").update(title="Other")
        Competition.objects.filter(slug="unknown").delete()
        list(Competition.objects.all())


def test_a_change_that_is_undone_leaves_the_version(competition: Competition) -> None:
    with changes_of(), transaction.atomic():
        Competition.objects.update(title="Other")
        transaction.set_rollback(True)


def test_folding_changes_no_version(competition: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_versions, "FOLD_MOST", 400)
    TableChange.objects.bulk_create(TableChange(table=TABLE, amount=number) for number in range(1000))
    with changes_of():
        fold_table_changes()
        assert TableChange.objects.count() <= FOLD_EACH * len(watched_tables())
        fold_table_changes()
    with changes_of(TABLE):
        Competition.objects.update(title="Other")


@pytest.mark.django_db(transaction=True)
def test_what_is_folded_at_the_same_time_counts_once(competition: Competition) -> None:
    def change_and_fold(number: int) -> None:
        try:
            Competition.objects.update(title=f"Title {number}")
            fold()
        finally:
            connection.close()

    rows = 2 * FOLD_EACH * len(watched_tables())
    TableChange.objects.bulk_create(TableChange(table="counted", amount=3) for _ in range(rows))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(change_and_fold, range(8)))
    assert versions()["counted"] == 3 * rows
    assert TableChange.objects.filter(table="counted").count() == 1


def test_every_table_but_those_of_sessions_sign_ins_and_workers_is_watched(db: None) -> None:
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    assert tables - watched_tables() == {"accounts_devicelogin", "django_session", "core_tablechange", "workers_worker"}


def _worker() -> Worker:
    return record_worker(name="one", worker_class="cpu", device="", calibration=1.0, started_at=clock.now())


def test_a_heartbeat_changes_no_version(db: None) -> None:
    with changes_of():
        WorkerHeartbeat(_worker()).beat()


@pytest.mark.django_db(transaction=True)
def test_a_trigger_that_was_lost_is_made_again_by_migrate(competition: Competition) -> None:
    with connection.cursor() as cursor:
        of = f' ON "{TABLE}"' if connection.vendor == "postgresql" else ""
        cursor.execute(f'DROP TRIGGER "{TABLE}_update_recorded"{of}')
    with changes_of():
        Competition.objects.update(title="Nobody notices")
    before = versions()[TABLE]
    call_command("migrate", verbosity=0)
    assert versions()[TABLE] != before
    with changes_of(TABLE):
        Competition.objects.update(title="Other")


@pytest.mark.django_db(transaction=True)
def test_the_triggers_of_a_table_that_is_no_longer_watched_are_dropped_by_migrate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = _worker()
    monkeypatch.setattr(Worker, "HAS_TABLE_VERSION", True)
    watched_tables.cache_clear()
    try:
        call_command("migrate", verbosity=0)
        with changes_of("workers_worker"):
            worker.save()
    finally:
        monkeypatch.undo()
        watched_tables.cache_clear()
    before = TableChange.objects.count()
    call_command("migrate", verbosity=0)
    worker.save()
    assert TableChange.objects.count() == before


def test_amounts_do_not_repeat(competition: Competition) -> None:
    for title in ("One", "Two"):
        Competition.objects.update(title=title)
    amounts = list(TableChange.objects.filter(table=TABLE).values_list("amount", flat=True))
    assert len(set(amounts)) == len(amounts) >= 3
    assert all(0 < amount <= table_versions.LARGEST for amount in amounts)
