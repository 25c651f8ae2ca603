"""The first build of a submission with requirements, and a second one that reuses what the first one installed."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import uuid
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from statistics import median

import docker
from docker.errors import DockerException

from bench.interleaved import say
from bench.programs import NotAvailableError
from bench.report import Section, table
from bench.sizes import sized
from evaluation.builder.build_container import BUILD_LABEL
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.installed_layer_cache import InstalledLayerCache
from evaluation.domain.errors import GauntletError
from evaluation.formats.query.catalogue import find_baseline
from evaluation.sandbox.host_process import runner_label

ROUNDS = sized(3, smallest=1)
MODULES = sized(3000, smallest=3)
MEBIBYTES = sized(100, smallest=1)
LIKE = "numpy-classifier"
_POLL_SECONDS = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")

Seconds = tuple[float, float, float, float]
"""Of the clock; and of the processor: the builder, the engine, the containers of builds."""


def measure() -> Section:
    """Build in turns: without a cached layer, with one that the engine has, and with one that it lost."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as name:
        folder = Path(name)
        (folder / "wheels").mkdir()
        _write_wheel(folder / "wheels" / "bench_package-1.0-py3-none-any.whl")
        try:
            with closing(docker.from_env()) as client:
                rows = _rows(client, folder)
        except (GauntletError, DockerException) as error:
            raise NotAvailableError(f"builds: {error}") from error
    return Section(
        "Builds with equal requirements",
        [
            f"`{LIKE}` with a requirement that installs {MODULES:,} modules and a library of {MEBIBYTES} MiB; each "
            f"build has other code. Medians of {ROUNDS}.",
            "",
            *table(["a build", "seconds", "processor time", "builder", "engine", "containers"], rows),
        ],
    )


def _rows(client: docker.DockerClient, folder: Path) -> list[list[str]]:
    settings = BuildSettings(network="none", find_links=str(folder / "wheels"))
    taken: dict[str, list[Seconds]] = {}
    DockerBuilder(settings).guards()  # proved every twelve hours, not for each build
    for number in range(ROUNDS):
        cache = InstalledLayerCache(folder / "cache", str(number), settings.cache)
        images: list[str] = []

        def build(what: str, cache: InstalledLayerCache = cache, images: list[str] = images) -> None:
            source = _source(folder / "source")
            builder = DockerBuilder(settings, cache=cache)
            taken.setdefault(what, []).append(
                _measured(client, lambda: images.append(str(builder.build(source, on_log=lambda line: None).image)))
            )
            say(f"builds: {what}: {taken[what][-1][0]:.1f} s")

        build("the first one")
        build("the second one")
        while images:
            client.images.remove(images.pop(), force=True)
        build("the second one, where the engine has no image of an earlier one")
        while images:
            client.images.remove(images.pop(), force=True)
    rows = []
    for what, each in taken.items():
        wall, *parts = (median(values) for values in zip(*each, strict=True))
        total = median(sum(seconds[1:]) for seconds in each)
        rows.append([what, *(f"{seconds:.2f} s" for seconds in (wall, total, *parts))])
    return rows


def _write_wheel(path: Path) -> None:
    about = "bench_package-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for number in range(MODULES):
            lines = [f"def function_{line}(value):\n    return [value + {line}, {number}]\n" for line in range(40)]
            wheel.writestr(f"bench_package/module_{number}.py", "\n".join(lines), zipfile.ZIP_DEFLATED)
        library = b"".join(os.urandom(1 << 19) + bytes(1 << 19) for _ in range(MEBIBYTES))
        wheel.writestr("bench_package/library.so", library, zipfile.ZIP_DEFLATED)
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: bench-package\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


def _source(target: Path) -> Path:
    """Write a submission whose code no build has seen."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(find_baseline(LIKE).repository(), target)
    (target / "requirements.txt").write_text("--no-index\nbench-package\n")
    (target / "unique.txt").write_text(uuid.uuid4().hex)
    return target


def _measured(client: docker.DockerClient, act: Callable[[], None]) -> Seconds:
    used: dict[str, float] = {}
    done = threading.Event()
    own_label = f"{BUILD_LABEL}={runner_label()}"

    def poll() -> None:
        while not done.wait(_POLL_SECONDS):
            # of a container that ends now, there is no answer, or an empty one
            with suppress(DockerException, ValueError):
                for container in client.containers.list(filters={"label": own_label}, ignore_removed=True):
                    stats = client.api.stats(str(container.id), stream=False, one_shot=True)
                    now = stats.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage", 0) / 1e9
                    used[str(container.id)] = max(now, used.get(str(container.id), 0.0))

    watcher = threading.Thread(target=poll)
    watcher.start()
    wall, own, engine = time.perf_counter(), time.process_time(), _engine_seconds()
    act()
    seconds = time.perf_counter() - wall, time.process_time() - own, _engine_seconds() - engine
    done.set()
    watcher.join()
    return (*seconds, sum(used.values()))


def _engine_seconds() -> float:
    """Return the processor time of the engines of this host and of the programs that they ran."""
    seconds = 0.0
    for name in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if name.read_text().strip() == "dockerd":
                fields = (name.parent / "stat").read_text().rpartition(")")[2].split()
                seconds += sum(int(ticks) for ticks in fields[11:15]) / _TICKS
    return seconds
