"""The broker in a folder: messages are seen whole or not at all."""

from __future__ import annotations

from pathlib import Path
from queue import Empty

import pytest
from kombu.connection import Connection

from config.broker import Transport
from config.environment import Environment


def connection(folder: Path) -> Connection:
    """To a broker in `folder`, as the settings name it."""
    address, options = Environment({"BROKER": f"filesystem://{folder}"}).broker("BROKER", "")
    made = Connection(address, transport_options=options)  # type: ignore[no-untyped-call]
    assert isinstance(made.transport, Transport)
    return made


def test_it_works(tmp_path: Path) -> None:
    # a queue of its own, of no name that the site has: Kombu remembers for the whole process what it declared
    with connection(tmp_path) as broker, broker.SimpleQueue("whole") as queue:
        queue.put({"task": "matches.play"})
        assert queue.get(timeout=5).payload == {"task": "matches.play"}
        assert not list(tmp_path.glob("messages/*"))


def test_it_rejects_a_message_that_is_not_written_whole(tmp_path: Path) -> None:
    """As a process leaves it that is killed while it writes."""
    with connection(tmp_path) as broker, broker.SimpleQueue("begun") as queue:
        (tmp_path / "messages" / "1_x.begun.msg.part").write_text("")
        with pytest.raises(Empty):
            queue.get(timeout=0.5)
