"""The Docker engine: whether one answers, and a client of it."""

from __future__ import annotations

import os
import socket

import docker
from docker.errors import DockerException

from evaluation.domain.errors import Fault

_DEFAULT_HOST = "unix:///var/run/docker.sock"
_UNIX = "unix://"
_TIMEOUT_SECONDS = 120


def connect_engine() -> docker.DockerClient:
    """A client of the engine where DOCKER_HOST, or its default, points; raises `Fault` where none answers."""
    host = os.environ.get("DOCKER_HOST") or _DEFAULT_HOST
    try:
        if host.startswith(_UNIX):
            _knock(host.removeprefix(_UNIX))
        client = docker.from_env(timeout=_TIMEOUT_SECONDS)
        try:
            client.ping()
        except BaseException:
            client.close()
            raise
    except (DockerException, OSError) as failure:
        raise Fault(f"no Docker engine answers at {host}: {failure}") from failure
    return client


def docker_available() -> bool:
    """Whether a Docker engine answers."""
    try:
        connect_engine().close()
    except Fault:
        return False
    return True


def _knock(path: str) -> None:
    # the SDK leaves a socket open where it cannot connect
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_TIMEOUT_SECONDS)
        probe.connect(path)
