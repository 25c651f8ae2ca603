"""`manage.py launch_workers`: let a cluster start workers while work waits."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.site_identity import identity
from operations.launcher import kubernetes
from operations.launcher.kubernetes import KubernetesLauncher
from operations.launcher.kubernetes_job import PodOptions, job_manifest
from operations.launcher.launch_loop import LaunchLoop
from operations.launcher.launcher_interface import WorkerLauncher
from operations.launcher.scaling import JobLimits
from operations.launcher.slurm import SlurmLauncher


class Command(BaseCommand):
    """Run beside the scheduler of a cluster, with the settings of a worker host (docs/operating.md, Clusters)."""

    help = "Start workers as jobs of a cluster while work waits; they end by themselves. Runs until it is stopped."
    requires_system_checks: list[str] = []  # they are for a site

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--engine", choices=("slurm", "kubernetes"), default="slurm", help="what starts the jobs")
        parser.add_argument("--most", type=int, required=True, help="jobs at a time at most")
        parser.add_argument("--slots", type=int, default=2, help="processes of a job that play; it gets as many cores")
        parser.add_argument("--minutes", type=int, default=240, help="time limit of a job")
        parser.add_argument("--idle", type=int, default=60, help="seconds without work after which a job ends")
        parser.add_argument("--every", type=float, default=10.0, help="seconds between two looks at the queue")
        parser.add_argument("--gpu", action="store_true", help="for players with `gpu = true`; options ask for it")
        parser.add_argument("options", nargs="*", help="options of sbatch, after --: -- --partition=gpu --gres=gpu:1")
        pods = parser.add_argument_group("with --engine kubernetes")
        pods.add_argument("--image", help="image of the target `worker` of the Dockerfile")
        pods.add_argument("--secret", default="gauntlet-worker", help="Secret with the settings of a worker host")
        pods.add_argument("--memory", type=int, default=8, help="GiB for each slot; each of two players may use 4")
        pods.add_argument("--disk", type=int, default=20, help="GiB for files, and as many for temporary ones")
        pods.add_argument("--gpu-resource", default="nvidia.com/gpu", help="with --gpu a slot gets one of it")
        pods.add_argument("--runtime-class", default="", help="RuntimeClass of a kernel of its own, such as kata")
        pods.add_argument("--node-label", action="append", default=[], metavar="KEY=VALUE", help="of all nodes to use")
        pods.add_argument("--namespace", default="gauntlet", help="namespace of the jobs")
        pods.add_argument(
            "--server", default=kubernetes.SERVER, help="address of the API, such as that of kubectl proxy"
        )
        pods.add_argument("--account", type=Path, default=kubernetes.ACCOUNT, help="folder with `token` and `ca.crt`")
        pods.add_argument("--show", action="store_true", help="print the manifest of a job, and end")

    def handle(self, *args: Any, **given: Any) -> None:
        for name in ("most", "slots", "minutes", "idle", "memory", "disk"):
            if given[name] < 1:
                raise CommandError(f"--{name} is {given[name]}\n  fix: choose a number of at least 1")
        worker_class = "gpu" if given["gpu"] else "cpu"
        name = f"gauntlet-{identity()[:8]}-{worker_class}"
        launcher: WorkerLauncher
        if given["engine"] == "slurm":
            launcher = _slurm(name, given)
        else:
            launcher = _kubernetes(name, given)
            if given["show"]:
                self.stdout.write(json.dumps(job_manifest(name, launcher.options), indent=2))
                return
        limits = JobLimits(most=given["most"], slots=given["slots"])
        loop = LaunchLoop(launcher, limits, worker_class=worker_class, every=given["every"])
        while True:
            time.sleep(loop.step())


def _slurm(name: str, given: dict[str, Any]) -> SlurmLauncher:
    kept: Path = settings.STATE / "host-settings"
    if not kept.is_file():
        raise CommandError(
            f"{settings.STATE} is not the folder of a worker host\n"
            "  fix: let this host join the site (manage.py invite_host, manage.py join)"
        )
    logs: Path = settings.STATE / "jobs"
    logs.mkdir(exist_ok=True)
    return SlurmLauncher(
        name=name, root=settings.ROOT, settings=kept, logs=logs, slots=given["slots"], minutes=given["minutes"],
        idle_seconds=given["idle"], options=tuple(given["options"]),
    )  # fmt: skip


def _kubernetes(name: str, given: dict[str, Any]) -> KubernetesLauncher:
    if given["options"]:
        raise CommandError(f"{given['options'][0]} is an option of sbatch\n  fix: leave out what follows --")
    if not given["image"]:
        raise CommandError("no image is named\n  fix: name that of the target `worker` of the Dockerfile with --image")
    labels = [label.partition("=") for label in given["node_label"]]
    if unclear := [key for key, _, value in labels if not (key and value)]:
        raise CommandError(f"--node-label {unclear[0]} has no value\n  fix: write it as KEY=VALUE")
    pods = PodOptions(
        image=given["image"], secret=given["secret"], slots=given["slots"], minutes=given["minutes"],
        idle_seconds=given["idle"], memory_gib=given["memory"], disk_gib=given["disk"],
        gpu_resource=given["gpu_resource"] if given["gpu"] else "", runtime_class=given["runtime_class"],
        node_labels={key: value for key, _, value in labels},
    )  # fmt: skip
    return KubernetesLauncher(
        name, given["namespace"], pods, server=given["server"].rstrip("/"), account=given["account"]
    )
