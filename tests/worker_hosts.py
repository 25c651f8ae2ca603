"""Worker hosts for tests: namespaces of this one, each with a network, processes and a disk of its own."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

ADDRESS = "10.77.0.1"
"""Where the hosts find what listens on this host's own address."""

_LAN = (
    "sh",
    "-c",
    "ip link add lan type bridge forward_delay 0 && ip addr add $0/24 dev lan && ip link set lan up && exec sleep inf",
)
_HOST = (
    'hostname "$0" && mount -t tmpfs -o mode=700 disk "$1" && mount -t tmpfs -o ro hidden "$2" && '
    "ip link set lo up && exec sleep inf"
)
_NAMESPACES = "--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc"
_CLONE_NEWNET = 0x40000000
_START_SECONDS = 30.0


class WorkerHosts:
    """Hosts h1, h2, ... in a network of their own, from which they reach some ports of this host at `ADDRESS`.

    Nothing of it is seen in the network of this host. Each has an empty disk, which `close` loses, and does not see the
    folder `hidden` of this host. Needs root.
    """

    def __init__(self, hidden: Path, *, number: int = 2) -> None:
        self.names = [f"h{each}" for each in range(1, number + 1)]
        self._disk = tempfile.TemporaryDirectory(prefix="disk-")  # short: paths of sockets are in it
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        self._roots: dict[str, int] = {}
        self._forwarders: list[Forwarder] = []
        self._hold("lan", ["--net", "--fork", *_LAN, ADDRESS])
        for place, name in enumerate(self.names, start=2):
            self._hold(name, [*_NAMESPACES, "sh", "-c", _HOST, name, self._disk.name, str(hidden)])
            self._in("lan", f"ip link add {name} type veth peer name eth0 netns {self._roots[name]}")
            self._in("lan", f"ip link set {name} master lan up")
            self._in(name, f"ip addr add 10.77.0.{place}/24 dev eth0 && ip link set eth0 up")

    def reach(self, port: int) -> None:
        """Let the hosts reach a port of this host's own address."""
        self._forwarders.append(Forwarder(self._roots["lan"], port))

    def command(self, name: str, command: Sequence[str]) -> list[str]:
        """Return what runs a command on a host, in the working directory of this process."""
        disk = self._disk.name
        variables = {each: os.environ[each] for each in ("PATH", "OMP_NUM_THREADS") if each in os.environ}
        variables |= {"HOME": disk, "TMPDIR": disk, "GAUNTLET_STATE": f"{disk}/site"}
        settings = [f"{each}={value}" for each, value in variables.items()]
        return [*self._enter(name), f"--wd={Path.cwd()}", "env", "--ignore-environment", *settings, *command]

    def kill(self, name: str) -> None:
        """Kill all processes of a host without warning, as a power failure does. Its disk stays."""
        self._in(name, "kill -KILL -1", check=False)

    def empty_disk(self, name: str) -> None:
        """Make a host one that has never joined a site."""
        self._in(name, f"rm -rf '{self._disk.name}/site'")

    def cut_off(self, name: str) -> None:
        """Drop what a host sends, and what is sent to it, until `connect`."""
        self._in("lan", f"ip link set {name} down")

    def connect(self, name: str) -> None:
        """Connect a host that was cut off."""
        self._in("lan", f"ip link set {name} up")

    def close(self) -> None:
        """End all hosts and their network."""
        for forwarder in self._forwarders:
            forwarder.close()
        for holder in reversed(self._holders.values()):
            holder.kill()
            holder.wait()
        self._disk.cleanup()

    def _hold(self, name: str, arguments: Sequence[str]) -> None:
        """Start a process that keeps the namespaces of a host, until this one ends, and wait until they are ready."""
        holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--kill-child", *arguments])
        self._holders[name] = holder
        deadline = time.monotonic() + _START_SECONDS
        while True:
            children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
            if children and Path(f"/proc/{children[0]}/comm").read_text() == "sleep\n":
                self._roots[name] = int(children[0])
                return
            assert holder.poll() is None, f"the namespaces of {name} could not be made"
            assert time.monotonic() < deadline, f"the namespaces of {name} are not ready"
            time.sleep(0.02)

    def _enter(self, name: str) -> list[str]:
        namespaces = ["--net"] if name == "lan" else ["--net", "--mount", "--uts", "--pid"]
        return ["nsenter", "--target", str(self._roots[name]), *namespaces]

    def _in(self, name: str, command: str, *, check: bool = True) -> None:
        subprocess.run([*self._enter(name), "sh", "-c", command], check=check)


class Forwarder:
    """Connects `ADDRESS` in another network namespace with this host's own address, for one port."""

    def __init__(self, process: int, port: int) -> None:
        self._port = port
        self._listener = listen_in(Path(f"/proc/{process}/ns/net"), port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f"forwarder of port {port}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Drop all connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._forward, sock=self._listener))
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()
        self._listener.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:  # what listens there is away
            writer.close()
            return
        await asyncio.gather(_copy(reader, to_writer), _copy(to_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


def listen_in(namespace: Path, port: int) -> socket.socket:
    """Return a socket that listens at `ADDRESS` in another network namespace. It stays there when it is passed on."""
    made: list[socket.socket] = []

    def make() -> None:  # in a thread of its own: only that one enters the namespace
        libc = ctypes.CDLL(None, use_errno=True)
        with namespace.open() as entered:
            if libc.setns(entered.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"{namespace} cannot be entered")
        made.append(socket.create_server((ADDRESS, port)))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0]
