"""A cluster of Slurm for tests: a controller and nodes on this host, without munge and with a made-up GPU each."""

from __future__ import annotations

import getpass
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tests.ports import free_port

START_SECONDS = 60.0


class SlurmCluster:
    """Controller and nodes n1, n2, ..., with `cores` each. `environment` is for Slurm's commands."""

    def __init__(self, *, nodes: int = 2, cores: int = 1) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="slurm-")
        folder, user, host = Path(self._folder.name), getpass.getuser(), socket.gethostname().partition(".")[0]
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        lines = [
            "ClusterName=tests", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={free_port()}",
            "AuthType=auth/none", "CredType=cred/none", f"SlurmUser={user}", f"SlurmdUser={user}",
            f"StateSaveLocation={folder}/state", f"SlurmdSpoolDir={folder}/spool-%n",
            "ProctrackType=proctrack/linuxproc",
            f"SlurmctldPidFile={folder}/controller.pid", f"SlurmdPidFile={folder}/%n.pid", "TaskPlugin=task/none",
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "SwitchType=switch/none", "MpiDefault=none",
            "JobAcctGatherType=jobacct_gather/none", "ReturnToService=2", "KillWait=5", "GresTypes=gpu",
            *(
                f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs={cores} Gres=gpu:1"
                for name in self.nodes
            ),
            f"PartitionName=main Nodes={','.join(self.nodes)} Default=YES MaxTime=60 State=UP",
        ]  # fmt: skip
        (folder / "slurm.conf").write_text("\n".join([*lines, ""]))
        (folder / "gres.conf").write_text(f"NodeName={','.join(self.nodes)} Name=gpu File=/dev/null\n")
        for name in ("state", *(f"spool-{each}" for each in self.nodes)):
            (folder / name).mkdir()
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("controller", *self.nodes):
            self.start(name)
        deadline = time.monotonic() + START_SECONDS
        while self.run("sinfo", "--noheader", "--Node", "--format=%t").split() != ["idle"] * nodes:
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.2)

    def start(self, name: str) -> None:
        """Start the controller or a node."""
        command = ["slurmctld", "-D"] if name == "controller" else ["slurmd", "-D", "-N", name]
        with (Path(self._folder.name) / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                command, env=os.environ | self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """Kill the controller or the daemon of a node, whose jobs go on."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def run(self, *command: str) -> str:
        """Return what a command of Slurm prints; nothing where it fails."""
        done = subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout

    def kill_jobs(self) -> None:
        """Kill all processes of all jobs without warning, and cancel what waits."""
        jobs = self.run("squeue", "--noheader", "--format=%i").split()
        if jobs:
            self.run("scancel", "--full", "--signal=KILL", *jobs)
            self.run("scancel", *jobs)

    def close(self) -> None:
        """End all jobs and all daemons."""
        deadline = time.monotonic() + START_SECONDS
        while self.run("squeue", "--noheader", "--format=%i").split():
            self.kill_jobs()
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.5)
        for name in list(self._running):
            self.kill(name)
        self._folder.cleanup()

    def logs(self) -> str:
        """Return the ends of the logs."""
        logs = sorted(Path(self._folder.name).glob("*.log"))
        return "".join(f"\n== {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)
