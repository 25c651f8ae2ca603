"""Real builds on a host that has run out of memory: a platform error, whatever the step makes of it."""

from __future__ import annotations

from contextlib import closing

import docker
import pytest

from evaluation.builder.build_container import BuildContainer
from evaluation.builder.build_context_tar import ContextEntry
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.docker_builder import builder_image_name
from evaluation.domain.errors import BuildRefusal, Fault
from evaluation.sandbox.docker_engine import NO_NETWORK

pytestmark = pytest.mark.docker

KILL_SLEEP = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    if (process / "cmdline").read_bytes() == b"sleep\\0" b"600\\0":
        os.kill(int(process.name), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("memory_bytes", "expected", "said"),
    [
        pytest.param(1 << 50, Fault, "this host had too little memory for a build", id="less than its limit is free"),
        pytest.param(512 << 20, BuildRefusal, "the build failed", id="its limit is free"),
    ],
)
def test_a_step_that_is_killed_for_memory_is_refused_only_where_the_host_has_its_limit_left(
    memory_bytes: int, expected: type[Exception], said: str
) -> None:
    settings = BuildSettings(network="none", memory_bytes=memory_bytes)
    step = f"FROM {settings.base_image}\nRUN echo started && sleep 600\n".encode()
    with closing(docker.from_env()) as client:
        name = builder_image_name(str(client.images.get(settings.base_image).id))

        def kill(line: str) -> None:
            """Let the kernel kill some process for memory, then kill the step, as it does on a host that is full."""
            if line == "started":
                with pytest.raises(docker.errors.ContainerError, match="exit status 137"):
                    client.containers.run(
                        name,
                        ["python3", "-c", "bytearray(b'1') * (1 << 28)"],
                        mem_limit=32 << 20,
                        memswap_limit=32 << 20,
                        remove=True,
                        **NO_NETWORK,
                    )
                (running,) = client.containers.list(filters={"name": build.name})
                running.exec_run(["python3", "-c", KILL_SLEEP])

        with BuildContainer(client, settings, image=name, proxy=None) as build, pytest.raises(expected, match=said):
            build.build("Dockerfile", (), [ContextEntry("Dockerfile", step)], kill, lambda: None)
