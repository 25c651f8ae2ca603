"""One build in a container of its own: rootless buildah with limits, its own storage, and no network but the proxy.

The container sees no other image, layer, cache or file of the engine or the host. Its storage is a volume that is
removed with it.
"""

from __future__ import annotations

import json
import queue
import tarfile
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from docker.errors import DockerException
from docker.types import LogConfig, Mount, Ulimit

from evaluation.builder.base import LogLine
from evaluation.builder.build_watch import too_large
from evaluation.builder.context import ContextEntry, write_context
from evaluation.builder.file_stream import FileStream
from evaluation.builder.image_archive import file_digest
from evaluation.builder.mirrors import PROXY_PORT, PROXY_URL
from evaluation.builder.settings import BuildSettings
from evaluation.domain.errors import BuildRefusal, Fault
from evaluation.sandbox.docker_run import as_fault
from evaluation.sandbox.host_process import runner_is_dead, runner_label

if TYPE_CHECKING:
    from docker import DockerClient

Watch: TypeAlias = Callable[[], None]
"""Asked about every second while a build runs; raises to stop it."""

BUILD_LABEL = "gauntlet.build"
"""The label of the containers and volumes of builds: the process that makes them (see `runner_label`)."""

IMAGE = "localhost/built:latest"
_STORE = "/store"
_CONTEXT_NAME = "context"
_CONTEXT = f"{_STORE}/{_CONTEXT_NAME}"
_OUT = f"{_STORE}/out"
_HOME = f"{_STORE}/home"
_SCRATCH = f"{_STORE}/scratch"
_PROXY_DIRECTORY = "/run/mirrors"
_USER = "1000:1000"
_STORAGE = (
    "--root", f"{_STORE}/graph", "--runroot", "/tmp/run", "--storage-driver", "overlay",  # noqa: S108
    "--storage-opt", "additionalimagestore=/home/build/base",
)  # fmt: skip
_START = f"""
mkdir -p {_HOME} {_SCRATCH}
if [ -S {_PROXY_DIRECTORY}/proxy.sock ]; then
  socat TCP-LISTEN:{PROXY_PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:{_PROXY_DIRECTORY}/proxy.sock 2>/dev/null &
  until socat -u OPEN:/dev/null TCP:127.0.0.1:{PROXY_PORT} 2>/dev/null; do sleep 0.02; done
fi
exec "$@"
"""
_SECCOMP = Path(__file__).with_name("build_seccomp.json")
_EXPORT = Path(__file__).with_name("export_image.py")
_TOO_LARGE = 3
_EXPORT_SECONDS = 900.0
_TAIL_LINES = 20
_LINE_BYTES = 8 << 10
_WATCH_SECONDS = 0.5
_CLOSE_SECONDS = 5.0
_SCRATCH_BYTES = 512 << 20
_FILE_OVERHEAD = 64 << 20
_MAX_CONFIG_BYTES = 1 << 20


@dataclass(frozen=True)
class Exported:
    """What a build made: the image's configuration, and its own layers as (diff id as said by the build, file)."""

    config: dict[str, Any]
    layers: tuple[tuple[str, Path], ...]


class TooLargeError(Exception):
    """The image's own layers hold more than they may."""


class UnreadableError(Exception):
    """What the build left cannot be read as an image: by its own doing, or the host's."""


class BuildContainer:
    """The storage of one build and what runs on it, while it is entered."""

    def __init__(self, client: DockerClient, settings: BuildSettings, *, image: str, proxy: Path | None) -> None:
        """`image` is the builder image with the base image in it, `proxy` the directory of the proxy's socket."""
        self._client = client
        self._settings = settings
        self._image = image
        self._proxy = proxy
        self.name = f"gauntlet-build-{uuid.uuid4().hex}"
        self._containers: list[str] = []

    def __enter__(self) -> BuildContainer:
        with as_fault("making the storage of a build"):
            self._client.volumes.create(self.name, labels={BUILD_LABEL: runner_label()})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for container in self._containers:
            with suppress(DockerException, OSError):
                self._client.api.remove_container(container, force=True, v=True)
        # what is left where the engine does not answer is swept later
        with suppress(DockerException, OSError):
            self._client.api.remove_volume(self.name, force=True)

    def build(
        self,
        file: str,
        arguments: Sequence[tuple[str, str]],
        context: Iterable[ContextEntry],
        on_log: LogLine,
        watch: Watch,
    ) -> None:
        """Build the Dockerfile `file` of `context`; raises `BuildRefusal` with the last lines where a step fails."""
        words = ["buildah", *_STORAGE, "build", "--isolation", "chroot", "--no-hosts", "--tag", IMAGE]
        for name, value in arguments:
            words += ["--build-arg", f"{name}={value}"]
        words += ["--file", f"{_CONTEXT}/{file}", _CONTEXT]
        tail: deque[str] = deque(maxlen=_TAIL_LINES)

        def log(line: str) -> None:
            on_log(line)
            tail.append(line)

        container = self._create(["sh", "-euc", _START, "build", *words], proxy=self._proxy)
        with tempfile.TemporaryFile() as archive, as_fault("sending the context of a build"):
            write_context(_below(_CONTEXT_NAME, context), archive)
            archive.seek(0)
            self._client.api.put_archive(container, _STORE, archive)
        code = self._run(container, log, watch)
        if code == 0:
            return
        with as_fault("asking how a build ended"):
            state = self._client.api.inspect_container(container)["State"]
        lines = "\n".join(f"    {line}" for line in tail)
        if state.get("OOMKilled"):
            raise BuildRefusal(
                f"the build used more than {self._settings.memory_bytes >> 20} MiB of memory; its last lines:\n{lines}",
                fix="use less memory in the step that failed; compile with fewer processes",
            )
        # a step that meets the limit of one file's size ends before any watch sees what it took
        if self.used_bytes() > self._settings.max_image_bytes:
            raise too_large("the build filled the engine's disk", self._settings)
        raise BuildRefusal(
            f"the build failed; its last lines:\n{lines}", fix="mend the step that failed, and try again"
        )

    def used_bytes(self) -> int:
        """What the storage holds now, as counted by a container of ours."""
        container = self._create(["du", "-s", "-k", _STORE], user="0:0", capabilities=("DAC_READ_SEARCH",))
        lines: list[str] = []
        self._run(container, lines.append, lambda: None)
        counted = [line.split()[0] for line in lines if line.endswith(f"\t{_STORE}")]
        return int(counted[-1]) << 10 if counted else 0

    def export(self, folder: Path, base_layers: Sequence[str], watch: Watch) -> Exported:
        """Copy what the build made into `folder`; raises `TooLargeError` or `UnreadableError`.

        The container of the build is removed before, so that no process of the submission runs beside it.
        """
        with as_fault("ending a build"):
            for container in list(self._containers):
                self._client.api.remove_container(container, force=True, v=True)
                self._containers.remove(container)
        limit = str(self._settings.max_image_bytes)
        words = ["buildah", "unshare", "python3", "-c", _EXPORT.read_text(encoding="utf-8")]
        container = self._create([*words, IMAGE, _OUT, json.dumps(list(base_layers)), limit])
        lines: deque[str] = deque(maxlen=_TAIL_LINES)
        code = self._run(container, lines.append, watch)
        if code == _TOO_LARGE:
            raise TooLargeError
        if code != 0:
            raise UnreadableError("\n".join(lines))
        config = json.loads(self._read(container, "config.json", _MAX_CONFIG_BYTES))
        names: list[str] = json.loads(self._read(container, "layers.json", _MAX_CONFIG_BYTES))
        layers = []
        for number, name in enumerate(names):
            path = folder / f"{number}.tar"
            with path.open("wb") as target:
                for chunk in self._chunks(container, f"{number}.tar", self._settings.max_image_bytes + _FILE_OVERHEAD):
                    target.write(chunk)
            if file_digest(path) != name:
                raise UnreadableError(f"layer {number} is not what the configuration names")
            layers.append((name, path))
        if not set(config["rootfs"]["diff_ids"]) <= {*names, *base_layers}:
            raise UnreadableError("the configuration names layers that were not made")
        return Exported(config, tuple(layers))

    def _create(
        self,
        command: list[str],
        *,
        user: str = _USER,
        capabilities: Sequence[str] = ("SETUID", "SETGID"),
        proxy: Path | None = None,
    ) -> str:
        mounts = [Mount(_STORE, self.name, type="volume")]
        if proxy is not None:
            mounts.append(Mount(_PROXY_DIRECTORY, str(proxy), type="bind", read_only=True))
        with as_fault("making the container of a build"):
            container = self._client.containers.create(
                self._image,
                name=f"{self.name}-{len(self._containers)}",
                command=command,
                mounts=mounts,
                user=user,
                cap_add=list(capabilities),
                labels={BUILD_LABEL: runner_label()},
                environment=_environment(proxied=proxy is not None),
                **_limits(self._settings),
            )
        self._containers.append(str(container.id))
        return str(container.id)

    def _run(self, container: str, on_log: LogLine, watch: Watch) -> int:
        """Start `container`, hand on its lines, and wait for its end; its exit status."""
        # one answer of the engine is awaited from the start to the end: where the engine goes away in between, that
        # connection breaks, and no build can make it look otherwise
        lines: queue.Queue[str | None] = queue.Queue(maxsize=1000)
        stopped = threading.Event()
        with as_fault("starting a build"):
            self._client.api.start(container)
            output = self._client.api.logs(container, stdout=True, stderr=True, stream=True, follow=True)
            reader = threading.Thread(target=_read_lines, args=(output, lines, stopped), daemon=True)
            reader.start()
        ending: queue.Queue[int | Exception] = queue.Queue()
        waiter = threading.Thread(target=self._wait, args=(container, ending), daemon=True)
        waiter.start()
        try:
            for line in _watched(lines, watch):
                on_log(line)
            while True:
                with suppress(queue.Empty):
                    ended = ending.get(timeout=_WATCH_SECONDS)
                    break
                watch()
        except BaseException:
            with suppress(DockerException, OSError):
                self._client.api.kill(container)
            raise
        finally:
            stopped.set()
            reader.join(_CLOSE_SECONDS)
            waiter.join(_CLOSE_SECONDS)
        if isinstance(ended, Exception):
            raise Fault(f"the Docker engine failed in the middle of a build: {ended}") from ended
        return ended

    def _wait(self, container: str, ending: queue.Queue[int | Exception]) -> None:
        try:
            ending.put(int(self._client.api.wait(container, timeout=None)["StatusCode"]))
        except (DockerException, OSError) as failure:
            ending.put(failure)

    def _read(self, container: str, name: str, limit: int) -> bytes:
        return b"".join(self._chunks(container, name, limit))

    def _chunks(self, container: str, name: str, limit: int) -> Iterator[bytes]:
        """The bytes of one plain file that the export wrote."""
        with as_fault("reading the image of a build"):
            stream, _ = self._client.api.get_archive(container, f"{_OUT}/{name}")
            with tarfile.open(fileobj=FileStream(stream), mode="r|") as archive:
                member = archive.next()
                file = archive.extractfile(member) if member is not None and member.isreg() else None
                if file is None or member is None or member.size > limit:
                    raise UnreadableError(f"{name} is no file of at most {limit:,} bytes")
                while chunk := file.read(1 << 20):
                    yield chunk
            deque(stream, maxlen=0)  # a connection that was read to its end can be used again


def sweep(client: DockerClient) -> int:
    """Remove the containers and volumes of builds whose process is gone; how many."""
    swept = 0
    with as_fault("sweeping builds"):
        for container in client.containers.list(all=True, filters={"label": BUILD_LABEL}, ignore_removed=True):
            if runner_is_dead(container.labels[BUILD_LABEL]):
                container.remove(force=True, v=True)
                swept += 1
        for volume in client.volumes.list(filters={"label": BUILD_LABEL}):
            if runner_is_dead(volume.attrs["Labels"][BUILD_LABEL]):
                volume.remove(force=True)
                swept += 1
    return swept


def _limits(settings: BuildSettings) -> dict[str, Any]:
    """How each container of a build is made; each line is a guard."""
    return {
        # so that all that a build writes is in its storage, which is counted, or in /tmp, which is memory
        "read_only": True,
        "network_mode": "none",
        "hostname": "build",
        "cap_drop": ["ALL"],
        # user namespaces and mounts are what a rootless build is made of
        "security_opt": [f"seccomp={_SECCOMP.read_text(encoding='utf-8')}", "apparmor=unconfined"],
        "tmpfs": {"/tmp": f"rw,nosuid,nodev,exec,mode=1777,size={_SCRATCH_BYTES}"},  # noqa: S108
        "ipc_mode": "private",
        "init": True,
        "nano_cpus": int(settings.cpus * 1e9),
        "mem_limit": settings.memory_bytes,
        "memswap_limit": settings.memory_bytes,
        "oom_score_adj": 500,
        "pids_limit": settings.processes,
        "ulimits": [
            Ulimit(name="core", soft=0, hard=0),
            # one call can reserve a disk, faster than any watch; well above what an image that is too large may hold
            Ulimit(name="fsize", soft=8 * settings.max_image_bytes, hard=8 * settings.max_image_bytes),
        ],
        "log_config": LogConfig(type="json-file", config={"max-size": "4m", "max-file": "2"}),
        "detach": True,
    }


def _environment(*, proxied: bool) -> dict[str, str]:
    places = {"HOME": _HOME, "TMPDIR": _SCRATCH}
    if not proxied:
        return places
    proxies = {"http_proxy": PROXY_URL, "https_proxy": PROXY_URL, "no_proxy": "localhost,127.0.0.1"}
    return places | proxies | {name.upper(): value for name, value in proxies.items()}


def _below(folder: str, entries: Iterable[ContextEntry]) -> Iterator[ContextEntry]:
    for entry in entries:
        yield ContextEntry(f"{folder}/{entry.name}", entry.content, entry.executable, entry.link)


def _watched(lines: queue.Queue[str | None], watch: Watch) -> Iterator[str]:
    """The lines until their end; `watch` is asked on time whether a build talks all the time or never."""
    due = time.monotonic() + _WATCH_SECONDS
    while True:
        if time.monotonic() >= due:
            watch()
            due = time.monotonic() + _WATCH_SECONDS
        with suppress(queue.Empty):
            line = lines.get(timeout=_WATCH_SECONDS)
            if line is None:
                return
            yield line


def _read_lines(output: Iterable[bytes], lines: queue.Queue[str | None], stopped: threading.Event) -> None:
    def put(line: str | None) -> None:
        while not stopped.is_set():
            with suppress(queue.Full):
                lines.put(line, timeout=_WATCH_SECONDS)
                return

    rest = b""
    with suppress(DockerException, OSError):
        for chunk in output:
            *whole, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LINE_BYTES:  # a line without an end comes in pieces
                whole, rest = [*whole, rest], b""
            for raw in whole:
                put(_text(raw))
    if rest:
        put(_text(rest))
    put(None)


def _text(raw: bytes) -> str:
    return raw[:_LINE_BYTES].decode("utf-8", errors="replace").rstrip("\r")
