"""PostgreSQL and Redis of a test's own, which it may stop while a site uses them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import psycopg2

from tests.ports import free_port

COMMAND = Path(__file__).resolve().parent.parent / ".ci" / "services"


class OwnServices:
    """Servers that only this test uses, until `close`. `environment` names them for sites.

    What the database has committed outlives a crash of its processes. Redis keeps nothing.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="services-")
        database_port, broker_port = free_port(), free_port()
        self.environment = {
            "DATABASE_URL": f"postgresql://gauntlet@127.0.0.1:{database_port}/gauntlet",
            "GAUNTLET_BROKER": f"redis://127.0.0.1:{broker_port}/0",
        }
        self._environment = os.environ | {
            "GAUNTLET_SERVICES_DIR": self._folder.name,
            "GAUNTLET_SERVICES_DATABASE_PORT": str(database_port),
            "GAUNTLET_SERVICES_BROKER_PORT": str(broker_port),
        }
        self.start()
        with closing(psycopg2.connect(self.environment["DATABASE_URL"])) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("alter system set synchronous_commit = on")
                cursor.execute("select pg_reload_conf()")

    def start(self) -> None:
        """Start what does not run."""
        self._run("start")

    def stop_database(self, mode: str) -> None:
        """End all connections, and PostgreSQL: in order ("fast"), or as a crash does ("immediate")."""
        self._run("stop-database", mode)

    def stop_broker(self) -> None:
        """End Redis, whose messages are lost."""
        self._run("stop-broker")

    def close(self) -> None:
        """End both, and remove what they keep."""
        self._run("stop")
        self._folder.cleanup()

    def _run(self, *arguments: str) -> None:
        # the server's own user cannot enter every working directory
        subprocess.run(
            ["bash", COMMAND, *arguments], cwd="/", env=self._environment, check=True, stdout=subprocess.DEVNULL
        )
