"""Admin pages of items of work, with what operators may do about failed and waiting ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import HttpResponse

from core.administration.admin_base_classes import ReadOnlyAdmin
from core.administration.confirmed_actions import AdminAction, confirmed_action, counted
from workers.work_item_queue import ItemQueue

STATE_COLOURS = {"waiting": "info", "claimed": "warning", "played": "success", "failed": "danger"}


class ItemActions(NamedTuple):
    """The actions of `ItemAdmin`."""

    replay: Callable[..., HttpResponse | None]
    retry_now: Callable[..., HttpResponse | None]
    give_up: Callable[..., HttpResponse | None]


class ItemAdmin(ReadOnlyAdmin):
    """Items of a kind of work; a subclass has the attributes of its `item_actions`."""

    show_full_result_count = False
    actions = ItemActions._fields
    actions_detail = ItemActions._fields


def item_actions(
    queue: ItemQueue[Any, Any], noun: str, *, replayed: str, given_up: str, verb: str = "plays"
) -> ItemActions:
    """Return the actions on the items of `queue`.

    `noun` and `verb` say what an item is and what a worker does with it; `replayed` and `given_up` are sentences about
    what follows.
    """
    replay = AdminAction(
        "Replay",
        f"{verb.capitalize()} each failed {noun} again. {replayed}".rstrip(),
        "queued for a replay",
        queue.replay,
        costs=lambda rows: f"worker time for {counted(len(rows), noun)}.",
    )
    retry_now = AdminAction(
        "Retry now",
        f"Forgets the faults on each waiting {noun}, so that the next free worker {verb} it.",
        "queued",
        queue.retry_now,
    )
    give_up = AdminAction(
        "Give up", f"Fails each waiting {noun} that had faults. {given_up}", "given up", queue.give_up
    )
    return ItemActions(*map(confirmed_action, (replay, retry_now, give_up)))
