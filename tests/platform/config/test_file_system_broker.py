"""The file-system broker with atomic writes."""

from __future__ import annotations

from pathlib import Path
from queue import Empty

import pytest
from kombu.connection import Connection

from config.environment import Environment
from config.file_system_broker import Transport


def connection(folder: Path) -> Connection:
    """Return a connection to a broker in `folder`, as the settings make it."""
    address, options = Environment({"BROKER": f"filesystem://{folder}"}).broker("BROKER", "")
    made = Connection(address, transport_options=options)  # type: ignore[no-untyped-call]
    assert isinstance(made.transport, Transport)
    return made


def test_a_message_is_received_whole_and_leaves_no_file(tmp_path: Path) -> None:
    # a queue name that the site does not use, since Kombu remembers declared queues for the whole process
    with connection(tmp_path) as broker, broker.SimpleQueue("whole") as queue:
        queue.put({"task": "workers.play"})
        assert queue.get(timeout=5).payload == {"task": "workers.play"}
        assert not list(tmp_path.glob("messages/*"))


def test_it_ignores_a_partially_written_message(tmp_path: Path) -> None:
    """Such as a message of a process that was killed during the write."""
    with connection(tmp_path) as broker, broker.SimpleQueue("begun") as queue:
        (tmp_path / "messages" / "1_x.begun.msg.part").write_text("")
        with pytest.raises(Empty):
            queue.get(timeout=0.5)


def test_it_replaces_the_empty_table_of_a_process_that_was_killed(tmp_path: Path) -> None:
    table = tmp_path / "control" / "again.exchange"
    with connection(tmp_path) as broker:
        table.touch()
        assert broker.channel().get_table("again") == []
        table.touch()
        with broker.SimpleQueue("again") as queue:
            queue.put({"task": "workers.play"})
            assert queue.get(timeout=5).payload == {"task": "workers.play"}
