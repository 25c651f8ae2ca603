"""Connection to the Docker engine."""

from __future__ import annotations

import os
import socket
from typing import Any

import docker
from docker.errors import DockerException

from evaluation.domain.errors import EngineFault

_DEFAULT_HOST = "unix:///var/run/docker.sock"
_UNIX = "unix://"
_TIMEOUT_SECONDS = 120

NO_NETWORK: dict[str, Any] = {"network_mode": "none", "network_disabled": True}
"""The options of every container. An engine that makes no network for one needs half of the time to start it."""


def connect_engine() -> docker.DockerClient:
    """Return a client of the engine at DOCKER_HOST or its default. Raise `EngineFault` if none answers."""
    host = os.environ.get("DOCKER_HOST") or _DEFAULT_HOST
    try:
        if host.startswith(_UNIX):
            _try_socket(host.removeprefix(_UNIX))
        client = docker.from_env(timeout=_TIMEOUT_SECONDS)
        try:
            client.ping()
        except BaseException:
            client.close()
            raise
    except (DockerException, OSError) as failure:
        raise EngineFault(f"no Docker engine answers at {host}: {failure}") from failure
    return client


def docker_available() -> bool:
    """Return True if a Docker engine answers."""
    try:
        connect_engine().close()
    except EngineFault:
        return False
    return True


def _try_socket(path: str) -> None:
    # the Docker SDK leaves a socket open if it cannot connect
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_TIMEOUT_SECONDS)
        probe.connect(path)
