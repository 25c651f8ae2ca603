"""Container of one build: rootless buildah with limits, its own storage, and no network except the proxy.

The container sees no other image, layer, cache or file of the engine or the host. Its storage is a volume that is
removed with it.
"""

from __future__ import annotations

import json
import re
import shutil
import tarfile
import tempfile
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from http import HTTPStatus
from pathlib import Path, PurePath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, DockerException
from docker.types import LogConfig, Mount, Ulimit

from evaluation.builder.base import LogLine
from evaluation.builder.build_context_tar import ContextEntry, write_context
from evaluation.builder.build_folder import sweep_build_folders
from evaluation.builder.build_limits import limits
from evaluation.builder.chunks_as_file import FileStream
from evaluation.builder.container_run import Watch, run_container
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.exported_layers import (
    Exported,
    TooLargeError,
    UnreadableError,
    check_layer,
    check_layer_names,
)
from evaluation.builder.image_archive import read_config, read_layer_names
from evaluation.builder.layer_check import DiskSpace
from evaluation.builder.mirrors import PROXY_PORT, PROXY_URL
from evaluation.domain.errors import BuildRefusal, Fault
from evaluation.sandbox.docker_engine import NO_NETWORK
from evaluation.sandbox.docker_run import as_fault, unless_removed
from evaluation.sandbox.host_process import runner_is_dead, runner_label
from evaluation.sandbox.out_of_memory_cause import HostMemory

if TYPE_CHECKING:
    from docker import DockerClient

BUILD_LABEL = "gauntlet.build"
"""The label of the containers and volumes of builds: the process that created them (see `runner_label`)."""

_IMAGE_LABEL = "gauntlet.builder-image"
"""The label of the volumes of builds: the builder image, in which they can be emptied."""

IMAGE = "localhost/built:latest"
_STORE = "/store"
_CONTEXT_NAME = "context"
_CONTEXT = f"{_STORE}/{_CONTEXT_NAME}"
_OUT = f"{_STORE}/out"
_HOME = f"{_STORE}/home"
_SCRATCH = f"{_STORE}/scratch"
_EXPORT_HOME = "/tmp/home"  # noqa: S108
_PROXY_DIRECTORY = "/run/mirrors"
_USER = "1000:1000"
_STORAGE = (
    "--root", f"{_STORE}/graph", "--runroot", "/tmp/run", "--storage-driver", "overlay",  # noqa: S108
    "--storage-opt", "additionalimagestore=/home/build/base",
)  # fmt: skip
_AFTER_LIMIT_SECONDS = 60
"""Time after that of a build at which its containers end by themselves, where its builder was killed meanwhile."""
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
_EMPTY = Path(__file__).with_name("deep_tree_removal.py")
_TOO_LARGE = 3
_FILE_TOO_LARGE = "exit status 153"
"""The last log line of a step that SIGXFSZ killed: a shell reports 128 plus the number of the signal."""
_TAIL_LINES = 20
_TMP_BYTES = 512 << 20
_MAX_CONFIG_BYTES = 1 << 20
_EXPORTED = re.compile(r"out/(?:[0-9]{1,3}\.tar|(?:config|layers)\.json)")


class BuildContainer:
    """Context manager for the storage of one build and the containers that use it."""

    def __init__(self, client: DockerClient, settings: BuildSettings, *, image: str, proxy: Path | None) -> None:
        """Take the builder image, which holds the base image, and the directory of the proxy's socket as `proxy`."""
        self._client = client
        self._settings = settings
        self._image = image
        self._proxy = proxy
        self.name = f"gauntlet-build-{uuid.uuid4().hex}"
        self._containers: list[str] = []
        self._context_bytes = 0
        self._counted_apart: tuple[str, ...] = ()

    def __enter__(self) -> BuildContainer:
        with as_fault("creating the storage of a build"):
            self._client.volumes.create(self.name, labels={BUILD_LABEL: runner_label(), _IMAGE_LABEL: self._image})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for container in self._containers:
            with suppress(DockerException, OSError):
                self._client.api.remove_container(container, force=True, v=True)
        # where the engine does not answer, `sweep` removes the rest later
        with suppress(DockerException, OSError, Fault):
            _remove_volume(self._client, self.name, image=self._image)

    def build(
        self,
        file: str,
        arguments: Sequence[tuple[str, str]],
        context: Iterable[ContextEntry],
        on_log: LogLine,
        watch: Watch,
    ) -> None:
        """Build the Dockerfile `file` of `context`. Raise `BuildRefusal` with the last log lines if a step fails.

        Raise `Fault` if the host ran out of memory meanwhile.
        """
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
            self._context_bytes = archive.tell()
            archive.seek(0)
            self._client.api.put_archive(container, _STORE, archive)
        code = self._run(container, log, watch)
        if code == 0:
            return
        with as_fault("reading the exit state of a build"):
            state = self._client.api.inspect_container(container)["State"]
        lines = "\n".join(f"    {line}" for line in tail)
        if state.get("OOMKilled"):
            raise BuildRefusal(
                f"the build used more than {self._settings.memory_bytes >> 20} MiB of memory; last log lines:\n{lines}",
                fix="use less memory in the step that failed; compile with fewer processes",
            )
        if tail and tail[-1].endswith(_FILE_TOO_LARGE):
            raise BuildRefusal(
                f"a step wrote a file of more than {_max_file_bytes(self._settings):,} bytes; last log lines:\n{lines}",
                fix=f"write smaller files: an image may hold {self._settings.max_image_bytes:,} bytes",
            )
        raise BuildRefusal(
            f"the build failed; last log lines:\n{lines}", fix="correct the step that failed, and push again"
        )

    def used(self) -> DiskSpace:
        """Return what the build holds of the storage now, counted in a container without code of the submission.

        The context and the exported layers are not among it: the site put them there.
        """
        places = " ".join((*self._counted_apart, _STORE))  # a file is counted with the first one
        count = f"du -s -k {places}; du -s --inodes {places}"
        container = self._create(["sh", "-c", count], user="0:0", capabilities=("DAC_READ_SEARCH",))
        lines: list[str] = []
        run_container(self._client, container, lines.append, lambda: None)
        counted = [int(line.split()[0]) for line in lines if line.endswith(f"\t{_STORE}")]
        if len(counted) != 2:
            return DiskSpace()
        return DiskSpace(counted[1], max(0, (counted[0] << 10) - self._context_bytes))

    def export(self, folder: Path, base_layers: Sequence[str], watch: Watch) -> Exported:
        """Copy the result of the build into `folder`. Raise `TooLargeError`, `UnreadableError`, or `Fault` as `build`.

        The build's container is removed first, so that no process of the submission runs at the same time.
        """
        with as_fault("ending a build"):
            for container in list(self._containers):
                self._client.api.remove_container(container, force=True, v=True)
                self._containers.remove(container)
        self._counted_apart = (_OUT,)
        limit = str(self._settings.max_image_bytes)
        # isolated, and with a home of its own: the build may have left modules and settings in its home
        words = ["buildah", "unshare", "python3", "-I", "-c", _EXPORT.read_text(encoding="utf-8")]
        container = self._create([*words, IMAGE, _OUT, json.dumps(list(base_layers)), limit], home=_EXPORT_HOME)
        lines: deque[str] = deque(maxlen=_TAIL_LINES)
        code = self._run(container, lines.append, watch)
        if code == _TOO_LARGE:
            raise TooLargeError
        if code != 0:
            raise UnreadableError("\n".join(lines))
        self._copy_out(container, folder)
        try:
            config = read_config((folder / "config.json").read_bytes())
            names = read_layer_names((folder / "layers.json").read_bytes())
            check_layer_names(config, names, base_layers)
            layers, room = {}, limits(self._settings)
            for number, name in enumerate(names):
                layers[name] = folder / f"{number}.tar"
                room = check_layer(layers[name], name, room, number)
        except FileNotFoundError as missing:
            raise UnreadableError(f"{PurePath(missing.filename).name} is missing") from missing
        except ValueError as error:
            raise UnreadableError(f"its configuration is not readable: {error}") from error
        return Exported(config, layers, room)

    def _run(self, container: str, on_log: LogLine, watch: Watch) -> int:
        """Return the exit status of a container. Raise `Fault` if it failed and the host was out of memory.

        The kernel may have killed any process of it, so its status alone says nothing.
        """
        memory = HostMemory(self._settings.memory_bytes)
        code = run_container(self._client, container, on_log, watch)
        if code and (shortage := memory.shortage()):
            raise Fault(f"this host had too little memory for a build: {shortage}")
        return code

    def _create(
        self,
        command: list[str],
        *,
        user: str = _USER,
        capabilities: Sequence[str] = ("SETUID", "SETGID"),
        proxy: Path | None = None,
        home: str = _HOME,
    ) -> str:
        mounts = [Mount(_STORE, self.name, type="volume")]
        if proxy is not None:
            mounts.append(Mount(_PROXY_DIRECTORY, str(proxy), type="bind", read_only=True))
        most = self._settings.seconds + _AFTER_LIMIT_SECONDS
        with as_fault("creating the container of a build"):
            container = self._client.containers.create(
                self._image,
                name=f"{self.name}-{len(self._containers)}",
                command=["timeout", "--signal=KILL", f"{most:g}", *command],
                mounts=mounts,
                user=user,
                cap_add=list(capabilities),
                labels={BUILD_LABEL: runner_label()},
                environment=_environment(home, proxied=proxy is not None),
                **_limits(self._settings),
            )
        self._containers.append(str(container.id))
        return str(container.id)

    def _copy_out(self, container: str, folder: Path) -> None:
        """Copy what the export wrote into `folder`, in one request: an engine starts a process for each."""
        left_bytes = self._settings.max_image_bytes
        with as_fault("reading the image of a build"):
            stream, _ = self._client.api.get_archive(container, _OUT)
            # closed: while an archive is half read, the engine removes no container
            with closing(stream), tarfile.open(fileobj=FileStream(stream), mode="r|") as archive:
                for number, member in enumerate(archive):
                    if number == 0 and member.isdir():
                        continue
                    limit = _MAX_CONFIG_BYTES if member.name.endswith(".json") else left_bytes
                    file = archive.extractfile(member) if member.isreg() and _EXPORTED.fullmatch(member.name) else None
                    if file is None or member.size > limit:
                        raise UnreadableError(f"{member.name} is not a file of at most {limit:,} bytes")
                    left_bytes -= member.size
                    with (folder / PurePath(member.name).name).open("xb") as target:
                        shutil.copyfileobj(file, target)
                deque(stream, maxlen=0)  # a connection that was read to its end can be used again


def sweep(client: DockerClient) -> int:
    """Remove the containers, volumes and folders of builds whose process is gone. Return their number."""
    swept = 0
    with as_fault("sweeping builds"):
        for container in client.containers.list(all=True, filters={"label": BUILD_LABEL}, ignore_removed=True):
            if runner_is_dead(container.labels[BUILD_LABEL]):
                with unless_removed():
                    container.remove(force=True, v=True)
                    swept += 1
        for volume in client.volumes.list(filters={"label": BUILD_LABEL}):
            labels = volume.attrs["Labels"]
            if runner_is_dead(labels[BUILD_LABEL]):
                _remove_volume(client, volume.name, image=labels.get(_IMAGE_LABEL, ""))
                swept += 1
    return swept + sweep_build_folders()


def _remove_volume(client: DockerClient, name: str, *, image: str) -> None:
    """Remove the storage of a build: emptied first, in a container of `image`, where the engine fails.

    An engine opens one file for each level of directories. What another process empties now is left to it.
    """
    try:
        client.api.remove_volume(name, force=True)
        return
    except APIError as failure:
        if failure.status_code == HTTPStatus.CONFLICT:  # a container has it, and all of dead processes are removed
            return
        container = client.containers.create(
            image,
            ["python3", "-I", "-c", _EMPTY.read_text(encoding="utf-8"), _STORE],
            mounts=[Mount(_STORE, name, type="volume")],
            user="0:0",
            **NO_NETWORK,
            cap_drop=["ALL"],
            cap_add=["DAC_OVERRIDE", "FOWNER"],
            labels={BUILD_LABEL: runner_label()},
        )
    try:
        run_container(client, str(container.id), lambda line: None, lambda: None)
    finally:
        with unless_removed():
            container.remove(force=True)
    try:
        client.api.remove_volume(name, force=True)
    except APIError as failure:
        if failure.status_code != HTTPStatus.CONFLICT:  # a sweep of another process empties it as well, and removes it
            raise


def _max_file_bytes(settings: BuildSettings) -> int:
    """Return the size limit of one file, well above the size of an image that is too large."""
    return 8 * settings.max_image_bytes


def _limits(settings: BuildSettings) -> dict[str, Any]:
    """Return the options of a build's containers; each line is a guard."""
    return {
        # a build writes only to its storage, which is counted, or to /tmp, which is memory
        "read_only": True,
        **NO_NETWORK,
        "hostname": "build",
        "cap_drop": ["ALL"],
        # a rootless build needs user namespaces and mounts
        "security_opt": [f"seccomp={_SECCOMP.read_text(encoding='utf-8')}", "apparmor=unconfined"],
        "tmpfs": {"/tmp": f"rw,nosuid,nodev,exec,mode=1777,size={_TMP_BYTES}"},  # noqa: S108
        "ipc_mode": "private",
        "init": True,
        "nano_cpus": int(settings.cpus * 1e9),
        "mem_limit": settings.memory_bytes,
        "memswap_limit": settings.memory_bytes,
        "oom_score_adj": 500,
        "pids_limit": settings.processes,
        "ulimits": [
            Ulimit(name="core", soft=0, hard=0),
            # one system call can reserve a whole disk, faster than the watch
            Ulimit(name="fsize", soft=_max_file_bytes(settings), hard=_max_file_bytes(settings)),
        ],
        "log_config": LogConfig(type="json-file", config={"max-size": "4m", "max-file": "2"}),
        "detach": True,
    }


def _environment(home: str, *, proxied: bool) -> dict[str, str]:
    directories = {"HOME": home, "TMPDIR": _SCRATCH}
    if not proxied:
        return directories
    proxies = {"http_proxy": PROXY_URL, "https_proxy": PROXY_URL, "no_proxy": "localhost,127.0.0.1"}
    return directories | proxies | {name.upper(): value for name, value in proxies.items()}


def _below(folder: str, entries: Iterable[ContextEntry]) -> Iterator[ContextEntry]:
    for entry in entries:
        yield ContextEntry(f"{folder}/{entry.name}", entry.content, entry.executable, entry.link)
