"""Finds transactions that lock rows in another order than the site's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from django.apps import apps

LOCKS = re.compile(r" FOR (?:NO KEY )?UPDATE(?: OF (?P<of>[^;]*?))?(?: SKIP LOCKED| NOWAIT)?$")


class LockRecorder:
    """A wrapper of a connection's queries. `violations` names each table that was locked too late."""

    def __init__(self, order: Sequence[str]) -> None:
        self._rank = {apps.get_model(label)._meta.db_table: place for place, label in enumerate(order)}
        self._locked: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
        self.violations: list[str] = []

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if found := LOCKS.search(sql):
            self._record(re.findall(r'"(\w+)"', found["of"] or "") or tables_of(sql), context["connection"])
        return execute(sql, params, many, context)

    def _record(self, tables: Sequence[str], connection: Any) -> None:
        # the test's own transaction is none of the site's
        blocks = [block for block in connection.atomic_blocks if not block._from_testcase]
        if not blocks:
            return
        locked = self._locked.setdefault(blocks[0], set())
        last = max((self._rank.get(table, -1) for table in locked), default=-1)
        for table in set(tables) - locked:
            if table not in self._rank:
                self.violations.append(f"{table} is not in LOCK_ORDER")
            elif self._rank[table] < last:
                self.violations.append(f"{table} is locked after {', '.join(sorted(locked))}")
        locked.update(tables)


def tables_of(sql: str) -> list[str]:
    """The tables that a query without OF locks: those that it joins, not those of its subqueries."""
    return re.findall(r'(?:FROM|JOIN) "(\w+)"', sql.partition(" WHERE ")[0])
