"""Player of the self-tests: it tries to break out and prints the result as JSON. Standard library only.

python -c "$(cat probe.py)" look                  what it sees, and where it can write
python -c "$(cat probe.py)" read PATH...          which of the files it can open
python -c "$(cat probe.py)" fill BYTES            write up to BYTES of files
python -c "$(cat probe.py)" fork COUNT            start up to COUNT children that wait
python -c "$(cat probe.py)" spin SECONDS          use two CPUs; print the CPUs that it got
python -c "$(cat probe.py)" eat BYTES             touch BYTES of memory
python -c "$(cat probe.py)" shout BYTES           print BYTES
python -c "$(cat probe.py)" wait                  sleep
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import time
from typing import Any

_CHUNK = bytes(1 << 20)
_SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108 - the scratch space of a sandbox
_KERNEL = ("/proc", "/sys", "/dev/mqueue", "/dev/pts")
"""File systems that hold no files; /dev/mqueue is a name space of messages, private to the player."""

_FIGURES = ("/proc/vmstat", "/proc/stat", "/proc/softirqs", "/proc/diskstats", "/sys/devices/system/node/node0/vmstat")
"""Files in which the kernel counts over all programs of the host."""


def look() -> dict[str, Any]:
    """Return what a player sees of the host."""
    mounts = _mounts()
    socket_directory = os.path.dirname(os.environ["GAUNTLET_SOCKET"])  # noqa: PTH120 - strings are enough here
    return {
        "interfaces": [name for _, name in socket.if_nameindex() if name != "lo"],
        "route": _route(),
        "writable": [place for place in mounts if not place.startswith(_SCRATCH + _KERNEL) and _can_write(place)],
        "mounts": mounts,
        "status": _status("CapEff", "CapBnd", "NoNewPrivs", "Seccomp"),
        "user": [os.getuid(), os.getgid(), *os.getgroups()],
        "socket_directory": [os.listdir(socket_directory), _can_write(socket_directory)],  # noqa: PTH208
        "figures": [path for path in _FIGURES if _says_something(path)],
        "processes": sum(name.isdigit() for name in os.listdir("/proc")),  # noqa: PTH208
    }


def read(*paths: str) -> dict[str, Any]:
    """Return the files that can be opened."""
    return {"read": [path for path in paths if _can_read(path)]}


def fill(most: int) -> dict[str, Any]:
    """Write files of one MiB below the home. Return the number of bytes, and the error that stopped it."""
    written, failure = 0, ""
    try:
        while written < most:
            with open(f"{os.environ['HOME']}/fill-{written}", "wb", buffering=0) as file:  # noqa: PTH123
                written += file.write(_CHUNK)
    except OSError as error:
        failure = errno.errorcode.get(error.errno or 0, str(error))
    return {"written": written, "error": failure}


def fork(most: int) -> dict[str, Any]:
    """Start up to `most` children. Return their number, and the error that stopped it."""
    children: list[int] = []
    failure = ""
    try:
        while len(children) < most:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    except OSError as error:
        failure = errno.errorcode.get(error.errno or 0, str(error))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return {"children": len(children), "error": failure}


def spin(seconds: float) -> dict[str, Any]:
    """Return the CPU time over wall time of two busy processes."""
    began = time.monotonic()
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            while time.monotonic() - began < seconds:
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    times = os.times()
    return {"cpus": (times.children_user + times.children_system) / (time.monotonic() - began)}


def eat(most: int) -> dict[str, Any]:
    """Touch `most` bytes of memory."""
    held: list[bytearray] = []
    while len(held) * len(_CHUNK) < most:
        held.append(bytearray(b"x" * len(_CHUNK)))
    return {"eaten": len(held) * len(_CHUNK)}


def shout(most: int) -> dict[str, Any]:
    """Print `most` bytes in lines, then the result."""
    line = "x" * 1023
    for _ in range(most // 1024):
        print(line)  # noqa: T201 - this is tested
    return {"printed": most}


def wait() -> dict[str, Any]:
    """Sleep for at most an hour."""
    time.sleep(3600)
    return {}


def _route() -> str:
    # 192.0.2.1 is a documentation address (RFC 5737), and a datagram socket sends nothing when it connects
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError as error:
            return errno.errorcode.get(error.errno or 0, str(error))
    return "reachable"


def _mounts() -> list[str]:
    with open("/proc/self/mountinfo") as file:  # noqa: PTH123
        return sorted({line.split()[4] for line in file})


def _can_read(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


def _says_something(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return bool(file.read(1))
    except OSError:
        return False


def _can_write(place: str) -> bool:
    try:
        if not os.path.isdir(place):  # noqa: PTH112
            os.close(os.open(place, os.O_WRONLY | os.O_APPEND))
            return not place.startswith("/dev/")  # /dev/null and similar devices store nothing
        name = f"{place}/gauntlet-probe"
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600))
        os.unlink(name)  # noqa: PTH108
    except OSError:
        return False
    return True


def _status(*names: str) -> dict[str, str]:
    with open("/proc/self/status") as file:  # noqa: PTH123
        pairs = dict(line.rstrip("\n").split(":", 1) for line in file)
    return {name: pairs.get(name, "?").strip() for name in names}


if __name__ == "__main__":
    act, arguments = sys.argv[1], sys.argv[2:]
    acts: dict[str, Any] = {
        "look": look,
        "read": read,
        "fill": lambda most: fill(int(most)),
        "fork": lambda most: fork(int(most)),
        "spin": lambda seconds: spin(float(seconds)),
        "eat": lambda most: eat(int(most)),
        "shout": lambda most: shout(int(most)),
        "wait": wait,
    }
    print(json.dumps(acts[act](*arguments)))  # noqa: T201 - the result
