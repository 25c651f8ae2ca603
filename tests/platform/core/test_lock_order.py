"""The check of the order of locks, which every test of the site makes on PostgreSQL."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db.transaction import Atomic

from config.lock_order import SHARED, lock_order
from tests.platform.locks import LockRecorder

TRACK = 'SELECT 1 FROM "competitions_track" WHERE id = 1 FOR NO KEY UPDATE'
SUBMISSION = (
    'SELECT 1 FROM "submissions_submission" INNER JOIN "competitions_track" ON (1 = 1) WHERE id = 1 '
    'FOR UPDATE OF "submissions_submission"'
)
JOINED = 'SELECT 1 FROM "submissions_submission" INNER JOIN "competitions_track" ON (1 = 1) WHERE id = 1 FOR UPDATE'
NESTED = 'SELECT 1 FROM "competitions_track" WHERE id IN (SELECT 1 FROM "competitions_competition") FOR UPDATE'
EVENT = 'SELECT 1 FROM "core_event" WHERE id = 1 FOR UPDATE SKIP LOCKED'


@pytest.mark.parametrize(
    ("queries", "violations"),
    [
        ([SUBMISSION, TRACK, SUBMISSION], []),
        ([TRACK, SUBMISSION], ["submissions_submission is locked after competitions_track"]),
        ([TRACK, JOINED], ["submissions_submission is locked after competitions_track"]),
        ([JOINED, NESTED], []),
        ([TRACK.removesuffix(" FOR NO KEY UPDATE"), SUBMISSION], []),
        ([EVENT], ["core_event is not in LOCK_ORDER"]),
    ],
)
def test_it_reports_rows_that_are_locked_out_of_order_and_models_without_a_place(
    queries: list[str], violations: list[str]
) -> None:
    recorder = LockRecorder(lock_order())
    connection = SimpleNamespace(atomic_blocks=[Atomic(None, savepoint=True, durable=False)])
    for query in queries:
        assert recorder(lambda *query: query[0], query, (), False, {"connection": connection}) == query
    assert recorder.violations == violations


def test_apps_of_formats_add_their_models_before_a_shared_one(monkeypatch: pytest.MonkeyPatch) -> None:
    app, later = (apps.get_app_config(label) for label in ("matches", "tournaments"))
    own = {"rounds.Round": ("auth.Group",), "rounds.SigningKey": ("auth.Permission",)}
    monkeypatch.setattr(app, "lock_order", own, raising=False)
    monkeypatch.setattr(later, "lock_order", {"rounds.Round": ["admin.LogEntry"]}, raising=False)
    order = lock_order()
    assert set(SHARED) < set(order)
    assert len(order) == len(set(order))
    place = order.index("rounds.Round")
    assert order[place - 2 : place] == ("admin.LogEntry", "auth.Group")
    assert order.index("auth.Permission") < order.index("rounds.SigningKey")


def test_a_model_that_no_shared_app_locks_is_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"matches.Piece": ["matches.Match"]}
    monkeypatch.setattr(apps.get_app_config("matches"), "lock_order", own, raising=False)
    with pytest.raises(ImproperlyConfigured, match=r"the lock_order of formats\.query\.matches names matches\.Piece"):
        lock_order()


def test_each_transaction_has_locks_of_its_own() -> None:
    recorder = LockRecorder(lock_order())
    for query in (TRACK, SUBMISSION):
        connection = SimpleNamespace(atomic_blocks=[Atomic(None, savepoint=True, durable=False)])
        recorder(lambda *query: None, query, (), False, {"connection": connection})
    assert recorder.violations == []
