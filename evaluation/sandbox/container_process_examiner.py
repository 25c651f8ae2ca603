"""Examination of the processes of a container by another one, for a worker who may not do it itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.sandbox import process_tree
from evaluation.sandbox.docker_engine import NO_NETWORK

if TYPE_CHECKING:
    from docker import DockerClient

_SOURCE = Path(process_tree.__file__)
_SECONDS = 30


@dataclass(frozen=True, eq=False)
class Examiner:
    """Starts containers of the base image, which holds nothing of a player, with root's right to examine processes."""

    client: DockerClient
    base_image: str
    labels: dict[str, str]

    def deleted_bytes(self, container_id: str, device: int) -> int:
        """Return what `process_tree.deleted_bytes` returns for the processes of a container.

        Raise what the engine raises.
        """
        container = self.client.containers.create(
            self.base_image,
            entrypoint=["python3", "-I", "-c", _SOURCE.read_text(encoding="utf-8"), str(device)],
            user="0:0",
            cap_drop=["ALL"],
            # the last one for files that are only mapped; old engines know no narrower right
            cap_add=["DAC_READ_SEARCH", "SYS_PTRACE", "SYS_ADMIN"],
            security_opt=["no-new-privileges:true"],
            **NO_NETWORK,
            pid_mode=f"container:{container_id}",
            read_only=True,
            healthcheck={"test": ["NONE"]},
            labels=self.labels,
        )
        try:
            container.start()
            status = container.wait(timeout=_SECONDS)["StatusCode"]
            return 0 if status else int(container.logs(stdout=True, stderr=False))
        finally:
            container.remove(force=True, v=True)
