"""Settings that a worker host gets when it joins: where it finds database, broker and objects, and the site's rules."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from config.environment import Environment
from core.errors import Refusal

SHARED = {"DATABASE_URL": "database", "GAUNTLET_BROKER": "broker", "GAUNTLET_OBJECTS": "object store"}
"""What all hosts of a site share; `GAUNTLET_JOIN_NAME` is the address of NAME where worker hosts need another one."""

SAME = (
    "GAUNTLET_HOSTS", "GAUNTLET_HTTPS", "GAUNTLET_PROXIES", "GAUNTLET_SANDBOX", "GAUNTLET_TRUST_EVERYBODY",
    "GAUNTLET_BASE_IMAGE", "GAUNTLET_LEGACY_IMAGE", "GAUNTLET_TEAM_WORKER_SECONDS", "GAUNTLET_TEAM_BUILD_SECONDS",
    "GAUNTLET_MAX_FILE_BYTES", "GAUNTLET_MAX_FILES", "GAUNTLET_MAX_CHECKOUT_BYTES", "GAUNTLET_MAX_IMAGE_BYTES",
    "GAUNTLET_MAX_IMAGE_FILES", "GAUNTLET_BASE_PYTHON", "GAUNTLET_BUILD_IMAGES", "GAUNTLET_BUILD_NETWORK",
    "GAUNTLET_BUILD_HOSTS", "GAUNTLET_BUILD_MEMORY_BYTES", "GAUNTLET_BUILD_CPUS", "GAUNTLET_BUILD_PROCESSES",
    "GAUNTLET_BUILD_SECONDS", "GAUNTLET_BUILD_CACHE_DAYS", "GAUNTLET_IMAGES_KEPT_DAYS",
)  # fmt: skip
"""What must be the same on all hosts: the rules of builds and of the queue. A host gets those that are set."""

OF_ENGINE = ("GAUNTLET_BASE_", "GAUNTLET_BUILD_", "GAUNTLET_DATA", "GAUNTLET_LEGACY_", "GAUNTLET_MAX_", "GAUNTLET_PIP_")
"""How the names of variables begin that the engine reads from the environment itself."""

_DOCUMENTED = "(docs/operating.md, Worker hosts)"


def host_settings(environment: Environment) -> Callable[[], dict[str, str]]:
    """Return a function that returns the environment variables for a worker host.

    It raises `Refusal` where another host could not use them. It is a function, so that no debug page shows passwords.
    """

    def read() -> dict[str, str]:
        found = {name: _address(environment, name, what) for name, what in SHARED.items()}
        return found | {name: value for name in SAME if (value := environment.text(name, ""))}

    return read


def _address(environment: Environment, name: str, what: str) -> str:
    special = f"GAUNTLET_JOIN_{name.removeprefix('GAUNTLET_')}"
    if for_hosts := environment.text(special, ""):
        return for_hosts
    address = environment.text(name, "")
    parts = urlsplit(address)
    if parts.hostname is None or parts.scheme in {"sqlite", "filesystem"}:
        needed = "an S3 bucket" if what == "object store" else "PostgreSQL" if what == "database" else "Redis"
        raise Refusal(
            f"worker hosts cannot use the {what} of this site: it is in a folder of this server",
            fix=f"set {name} to the address of {needed} {_DOCUMENTED}",
        )
    if _is_this_host(parts.hostname):
        raise Refusal(
            f"worker hosts cannot reach the {what} of this site: its address is {parts.hostname}",
            fix=f"set {special} to its address in the network of the worker hosts {_DOCUMENTED}",
        )
    return address


def _is_this_host(name: str) -> bool:
    """Return True for a name that means the host itself, or, like those of a compose file, nothing outside of it."""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return "." not in name
