"""Typed readers of environment variables. A value that cannot be read stops the start and names the fix."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.file_permissions import SharedFolderError, make_private_folder, narrow_database

YES = frozenset({"1", "true", "yes", "on"})
MOST_CACHE_FILES = 10_000
"""So many that nobody drives out what is counted of them by asking for other things."""
NO = frozenset({"0", "false", "no", "off"})


class Environment:
    """Reads variables from `source`. A variable that is unset or empty has its default."""

    def __init__(self, source: Mapping[str, str] = os.environ) -> None:
        self._source = source

    def text(self, name: str, default: str) -> str:
        """The variable as it stands, without surrounding blanks."""
        return self._source.get(name, "").strip() or default

    def flag(self, name: str, *, default: bool) -> bool:
        """A yes or no; raises `ImproperlyConfigured` for anything else."""
        value = self.text(name, "true" if default else "false").lower()
        if value in YES:
            return True
        if value in NO:
            return False
        raise ImproperlyConfigured(f"{name} is {value!r}. Set it to true or false.")

    def names(self, name: str, default: tuple[str, ...]) -> list[str]:
        """A list of names separated by commas."""
        return [part.strip() for part in self.text(name, ",".join(default)).split(",") if part.strip()]

    def number(self, name: str, default: int, *, least: int = 1) -> int:
        """A whole number from `least` on; raises `ImproperlyConfigured` for anything else."""
        value = self.text(name, str(default)).replace("_", "")
        if not value.isdecimal() or int(value) < least:
            raise ImproperlyConfigured(f"{name} is {value!r}. Set it to a whole number from {least} on.")
        return int(value)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of `choices`, by default the first; raises `ImproperlyConfigured` for anything else."""
        value = self.text(name, choices[0])
        if value not in choices:
            raise ImproperlyConfigured(f"{name} is {value!r}. Set it to one of: {', '.join(choices)}.")
        return value

    def folder(self, name: str, default: Path) -> Path:
        """A folder that this user alone can open, made where it does not exist.

        Raises `ImproperlyConfigured` where that fails, and for a folder that is open to others and not the site's.
        """
        path = Path(self.text(name, str(default)))
        try:
            make_private_folder(path, ours=path == default)
        except SharedFolderError as error:
            raise ImproperlyConfigured(
                f"{path} {error}. If it is for the site alone, close it: chmod 700 {path}; if not, set {name} to "
                "a folder of the site's own."
            ) from error
        except OSError as error:
            raise ImproperlyConfigured(
                f"{path} cannot be made or closed to others ({error}). Set {name} to a writable folder."
            ) from error
        return path

    def contact(self, name: str) -> str:
        """An address that people write to, `mailto:` or `https:`, or ""; raises `ImproperlyConfigured` for another."""
        value = self.text(name, "").strip()
        if value and not re.fullmatch(r"(mailto:[^\s@]+@[^\s@]+|https://\S+)", value):
            raise ImproperlyConfigured(f"{name} is {value!r}. Set it to mailto:NAME@HOST or https://ADDRESS.")
        return value

    def addresses(self, name: str) -> list[str]:
        """Return the e-mail addresses, separated by commas; raise `ImproperlyConfigured` for what is none."""
        found = self.names(name, ())
        if wrong := next((each for each in found if not re.fullmatch(r"[^\s@]+@[^\s@]+", each)), None):
            raise ImproperlyConfigured(f"{name} holds {wrong!r}. Set it to e-mail addresses, separated by commas.")
        return found

    def database(self, name: str, default: str) -> dict[str, Any]:
        """A database address as Django's settings for it; raises `ImproperlyConfigured` for one that it cannot read.

        `sqlite:///relative/path`, `sqlite:////absolute/path` or `postgresql://user:password@host:port/name`.
        """
        address = self.text(name, default)
        scheme, _, rest = address.partition("://")
        if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
            return _sqlite(name, rest[1:])
        if scheme in {"postgresql", "postgres"}:
            return _postgresql(name, address)
        # the address may hold a password, so it is not repeated
        raise ImproperlyConfigured(
            f"{name} is no database address. Set it to sqlite:///PATH or postgresql://USER:PASSWORD@HOST:PORT/NAME."
        )

    def broker(self, name: str, default: str) -> tuple[str, dict[str, Any]]:
        """A broker's address and Celery's transport options for it.

        `redis://:PASSWORD@HOST:PORT/NUMBER` (`rediss://` for TLS), or `filesystem:///absolute/folder`: Celery's
        transport of plain files, for one host without services. Raises `ImproperlyConfigured` for an address that it
        cannot read.
        """
        address = self.text(name, default)
        scheme, _, rest = address.partition("://")
        if _is_redis(address):
            # a message is taken at once, so nothing is ever delivered twice for taking long
            return address, {}
        if scheme == "filesystem" and rest.startswith("/"):
            return "filesystem://", _file_broker(Path(rest))
        raise ImproperlyConfigured(f"{name} is no broker address. Set it to redis://:PASSWORD@HOST:PORT/NUMBER.")

    def cache(self, name: str, broker: str, *, otherwise_in: Path) -> dict[str, Any]:
        """Django's settings of the cache that all processes share; raises `ImproperlyConfigured` for another address.

        It is the Redis server `name`, by default that of the variable `broker`, and files where that is none either.
        What is counted there, such as attempts to log in, must hold whichever process answers.
        """
        address = self.text(name, "")
        if address and not _is_redis(address):
            # the address may hold a password, so it is not repeated
            raise ImproperlyConfigured(
                f"{name} is no address of a Redis server. Set it to redis://:PASSWORD@HOST:PORT/NUMBER, or rediss:// "
                "for TLS."
            )
        address = address or self.text(broker, "")
        if _is_redis(address):
            return {"BACKEND": "config.json_cache.JsonRedisCache", "LOCATION": address, "KEY_PREFIX": "gauntlet-cache"}
        return {
            "BACKEND": "config.json_cache.JsonFileBasedCache",
            "LOCATION": str(otherwise_in),
            "OPTIONS": {"MAX_ENTRIES": MOST_CACHE_FILES},
        }

    def secret(self, name: str, *, kept_in: Path) -> str:
        """The secret in the variable, or else one that is made at the first start and kept in the file `kept_in`.

        The file is readable by its owner only. Processes on several hosts must be given the same variable. Raises
        `ImproperlyConfigured` for a secret of fewer than 50 characters and where the file cannot be written.
        """
        value = self.text(name, "") or _kept_secret(name, kept_in)
        if len(value) < 50:
            raise ImproperlyConfigured(f"{name} is shorter than 50 characters. Set it to a longer random text.")
        return value


def _is_redis(address: str) -> bool:
    scheme, _, rest = address.partition("://")
    return scheme in {"redis", "rediss"} and bool(rest)


def _file_broker(folder: Path) -> dict[str, Any]:
    messages, control = folder / "messages", folder / "control"
    for made in (messages, control):
        made.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.2,
    }


def _sqlite(name: str, path: str) -> dict[str, Any]:
    try:
        narrow_database(Path(path))
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} is open to other users of this host and cannot be closed to them ({error}). Close it: chmod 600 "
            f"{path}; or set {name} to a file of this user's own."
        ) from error
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        # a file for tests, too: one in memory would be shared by all threads, unlike anything a site runs on
        "TEST": {"NAME": f"{path}.test"},
        # writers wait for each other at the start of a transaction, instead of failing in its middle
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }


def _postgresql(name: str, address: str) -> dict[str, Any]:
    parts = urlsplit(address)
    try:
        port = parts.port or 5432
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} has a port that is no number from 0 to 65535. Correct it.") from error
    database = unquote(parts.path.lstrip("/"))
    if not database or not parts.hostname:
        raise ImproperlyConfigured(
            f"{name} names no host or no database. Use postgresql://USER:PASSWORD@HOST:PORT/NAME."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname,
        "PORT": port,
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def _kept_secret(name: str, path: Path) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # written beside and linked, so that two processes that start together agree on one
            fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
            fresh.touch(mode=0o600)
            fresh.write_text(secrets.token_urlsafe(64))
            try:
                path.hardlink_to(fresh)
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name} is not set and {path} cannot be used ({error}). Set {name}.") from error
