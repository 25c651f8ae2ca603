"""Names of workers: "HOST/SLOT"."""

from __future__ import annotations


def host_of(worker: str) -> str:
    """Return the host of a worker named "HOST/SLOT", as the operator named it (`GAUNTLET_WORKER_NAME`)."""
    return worker.rpartition("/")[0] or worker
