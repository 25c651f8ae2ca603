"""How much room a submission leaves below a limit."""

from __future__ import annotations

import pytest

from evaluation.domain.limit_use import LimitUse, Room


@pytest.mark.parametrize(
    ("used", "room"),
    [
        (None, Room.UNKNOWN),
        (0, Room.ENOUGH),
        (79.9, Room.ENOUGH),
        (80, Room.LITTLE),
        (100, Room.LITTLE),
        (100.1, Room.NONE),
    ],
)
def test_the_share_of_the_limit_decides(used: float | None, room: Room) -> None:
    assert LimitUse("time", used, 100).room is room
