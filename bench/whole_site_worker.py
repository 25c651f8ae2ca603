"""A worker of the measured site: plays what waits at each line of stdin, and answers with a line.

usage: python -m bench.whole_site_worker NAME
"""

from __future__ import annotations

import importlib
import sys

import django

SECONDS = 600.0


def main() -> None:
    django.setup()
    clock, heartbeat, models, worker = map(
        importlib.import_module, ("core.clock", "workers.heartbeat", "workers.models", "workers.worker_loop")
    )
    now = clock.now()
    row = models.Worker.objects.create(name=sys.argv[1], worker_class="cpu", started_at=now, last_seen_at=now)
    print("ready", flush=True)
    for _ in sys.stdin:
        with heartbeat.WorkerHeartbeat(row) as beating:
            worker.play(row, beating, seconds=SECONDS)
        print("done", flush=True)


if __name__ == "__main__":
    main()
