"""`manage.py launch_workers`: let a cluster start workers while work waits."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.site_identity import identity
from operations.launcher.launch_loop import LaunchLoop
from operations.launcher.scaling import JobLimits
from operations.launcher.slurm import SlurmLauncher


class Command(BaseCommand):
    """Run beside the scheduler of a cluster, on a host that has joined the site (docs/operating.md, Clusters)."""

    help = "Start workers as jobs of Slurm while work waits; they end by themselves. Runs until it is stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--most", type=int, required=True, help="jobs at a time at most")
        parser.add_argument("--slots", type=int, default=2, help="processes of a job that play; it gets as many cores")
        parser.add_argument("--minutes", type=int, default=240, help="time limit of a job")
        parser.add_argument("--idle", type=int, default=60, help="seconds without work after which a job ends")
        parser.add_argument("--every", type=float, default=10.0, help="seconds between two looks at the queue")
        parser.add_argument("--gpu", action="store_true", help="for players with `gpu = true`; options ask for it")
        parser.add_argument("options", nargs="*", help="options of sbatch, after --: -- --partition=gpu --gres=gpu:1")

    def handle(self, *args: Any, **given: Any) -> None:
        for name in ("most", "slots", "minutes", "idle"):
            if given[name] < 1:
                raise CommandError(f"--{name} is {given[name]}\n  fix: choose a number of at least 1")
        kept: Path = settings.STATE / "host-settings"
        if not kept.is_file():
            raise CommandError(
                f"{settings.STATE} is not the folder of a worker host\n"
                "  fix: let this host join the site (manage.py invite_host, manage.py join)"
            )
        logs: Path = settings.STATE / "jobs"
        logs.mkdir(exist_ok=True)
        options = tuple(given["options"])
        worker_class = "gpu" if given["gpu"] else "cpu"
        launcher = SlurmLauncher(
            name=f"gauntlet-{identity()[:8]}-{worker_class}", root=settings.ROOT, settings=kept, logs=logs,
            slots=given["slots"], minutes=given["minutes"], idle_seconds=given["idle"], options=options,
        )  # fmt: skip
        limits = JobLimits(most=given["most"], slots=given["slots"])
        loop = LaunchLoop(launcher, limits, worker_class=worker_class, every=given["every"])
        while True:
            time.sleep(loop.step())
