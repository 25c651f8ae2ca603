"""Typed readers of environment variables. An invalid value stops the start with a message that names the fix."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.file_permissions import SharedFolderError, make_database_private, make_private_folder

YES = frozenset({"1", "true", "yes", "on"})
NO = frozenset({"0", "false", "no", "off"})
MAX_CACHE_FILES = 10_000
"""Large enough that rate-limit counters are not evicted."""


class Environment:
    """Environment variables from `source`. A variable that is unset or empty has its default.

    `NAME_FILE` names a file that holds the variable NAME, as with the secrets of containers.
    """

    def __init__(self, source: Mapping[str, str] = os.environ) -> None:
        self._source = source

    def with_file(self, path: Path) -> Environment:
        """Return these variables and those that the lines NAME=VALUE of a file add, if it exists; these come first.

        Raise `ImproperlyConfigured` for a file that cannot be read.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return self
        except (OSError, UnicodeError) as error:
            raise ImproperlyConfigured(f"{path} cannot be read ({error}). Make it readable for this user.") from error
        added = dict(line.partition("=")[::2] for line in lines if line.strip() and not line.startswith("#"))
        return Environment({**added, **{name: value for name, value in self._source.items() if value.strip()}})

    def export(self, prefixes: tuple[str, ...]) -> None:
        """Set these variables in the environment of this process, for what reads them there: those with a prefix.

        What reads them there knows no files, so it gets their values instead. Raise `ImproperlyConfigured` as `text`.
        """
        names = {name.removesuffix("_FILE") for name in self._source if name.startswith(prefixes)}
        for name, value in [(name, self.text(name, "")) for name in names]:
            if value:
                os.environ[name] = value
                os.environ.pop(f"{name}_FILE", None)  # both of them would stop programs that this one starts

    def text(self, name: str, default: str) -> str:
        """Return the variable without surrounding whitespace.

        Raise `ImproperlyConfigured` if its file cannot be read, or both the variable and a file are set.
        """
        value, file = self._source.get(name, "").strip(), self._source.get(f"{name}_FILE", "").strip()
        if file and value:
            raise ImproperlyConfigured(f"{name} and {name}_FILE are both set. Set one of them.")
        if file:
            try:
                value = Path(file).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeError) as error:
                raise ImproperlyConfigured(f"{name}_FILE cannot be read ({error}). Name a file with {name}.") from error
        return value or default

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a yes or no. Raise `ImproperlyConfigured` for another value."""
        value = self.text(name, "true" if default else "false").lower()
        if value in YES:
            return True
        if value in NO:
            return False
        raise ImproperlyConfigured(f"{name} is {value!r}. Set it to true or false.")

    def names(self, name: str, default: tuple[str, ...]) -> list[str]:
        """Return a list of names separated by commas."""
        return [part.strip() for part in self.text(name, ",".join(default)).split(",") if part.strip()]

    def networks(self, name: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        """Return networks separated by commas. Raise `ImproperlyConfigured` for another text."""
        try:
            return [ipaddress.ip_network(text) for text in self.names(name, ())]
        except ValueError as error:
            raise ImproperlyConfigured(f"{name}: {error}. Write networks as in 10.0.0.0/8,fd00::/8.") from error

    def number(self, name: str, default: int, *, least: int = 1, most: int | None = None, because: str = "") -> int:
        """Return a whole number from `least` to `most`. Raise `ImproperlyConfigured` for another value.

        `because` says in the error where the limit comes from.
        """
        value = self.text(name, str(default)).replace("_", "")
        if not value.isdecimal() or int(value) < least or (most is not None and int(value) > most):
            numbers = f"of at least {least}" if most is None else f"from {least} to {most}"
            reason = f": {because}" if because else ""
            raise ImproperlyConfigured(f"{name} is {value!r}. Set it to a whole number {numbers}{reason}.")
        return int(value)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Return one of `choices`, by default the first. Raise `ImproperlyConfigured` for another value."""
        value = self.text(name, choices[0])
        if value not in choices:
            raise ImproperlyConfigured(f"{name} is {value!r}. Set it to one of: {', '.join(choices)}.")
        return value

    def folder(self, name: str, default: Path) -> Path:
        """Return a folder that only this user can open; create it if it does not exist.

        Raise `ImproperlyConfigured` if that fails, or if the folder is open to others and is not the site's.
        """
        path = Path(self.text(name, str(default)))
        try:
            make_private_folder(path, is_site_folder=path == default)
        except SharedFolderError as error:
            raise ImproperlyConfigured(
                f"{path} {error}. If only the site uses it, run: chmod 700 {path}. Otherwise set {name} to a "
                "separate folder for the site."
            ) from error
        except OSError as error:
            raise ImproperlyConfigured(
                f"{path} cannot be created or made private ({error}). Set {name} to a writable folder."
            ) from error
        return path

    def name_of_site(self, name: str, default: str) -> str:
        """Return a name for titles and e-mails. Raise `ImproperlyConfigured` if it is too long or not printable."""
        value = self.text(name, default)
        if len(value) > 40 or not value.isprintable():
            raise ImproperlyConfigured(f"{name} is {value!r}. Set it to at most 40 printable characters.")
        return value

    def colours(self, name: str) -> tuple[str, str] | None:
        """Return two colours, for light and for dark pages, or None. Raise `ImproperlyConfigured` for other values."""
        found = [each.lower() for each in self.names(name, ())]
        if not found:
            return None
        if len(found) != 2 or not all(re.fullmatch(r"#[0-9a-f]{6}", each) for each in found):
            raise ImproperlyConfigured(
                f"{name} is {', '.join(found)!r}. Set it to two colours, for light and for dark pages: #0b5c8a,#7cc4ef."
            )
        return found[0], found[1]

    def contact(self, name: str) -> str:
        """Return a contact address, `mailto:` or `https:`, or "". Raise `ImproperlyConfigured` for another value."""
        value = self.text(name, "").strip()
        if value and not re.fullmatch(r"(mailto:[^\s@]+@[^\s@]+|https://\S+)", value):
            raise ImproperlyConfigured(f"{name} is {value!r}. Set it to mailto:NAME@HOST or https://ADDRESS.")
        return value

    def address(self, name: str, scheme: str, hosts: Sequence[str]) -> str:
        """Return the address of a site, without a trailing slash; by default that of the first of `hosts`.

        Raise `ImproperlyConfigured` for what is none.
        """
        value = self.text(name, f"{scheme}://{hosts[0].lstrip('.') if hosts else 'localhost'}").rstrip("/")
        if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", value):
            raise ImproperlyConfigured(f"{name} is {value!r}. Set it to the site's address, https://HOST.")
        return value

    def collector(self, name: str) -> str:
        """Return the address of a collector of OpenTelemetry without a trailing slash, or "".

        Raise `ImproperlyConfigured` for another value, and where the packages that it needs are missing.
        """
        value = self.text(name, "").rstrip("/")
        if value and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", value):
            # the address may hold a password, so it is not repeated
            raise ImproperlyConfigured(f"{name} is not the address of a collector. Set it to http://HOST:4318.")
        try:
            if value:
                version("opentelemetry-exporter-otlp-proto-http")
        except PackageNotFoundError as error:
            raise ImproperlyConfigured(
                f"{name} needs OpenTelemetry, which is not installed. Install the extra `traces` (docs/operating.md, "
                f"Traces), or unset {name}."
            ) from error
        return value

    def source(self, name: str) -> str:
        """Return the address or folder of a git repository, or "". Raise `ImproperlyConfigured` for another value."""
        value = self.text(name, "")
        if value and not re.fullmatch(r"(https?://|ssh://|/)[^\s'\"\\]+", value):
            raise ImproperlyConfigured(
                f"{name} is {value!r}. Set it to the address of a git repository: https://HOST/PATH."
            )
        return value

    def addresses(self, name: str) -> list[str]:
        """Return the e-mail addresses, separated by commas; raise `ImproperlyConfigured` for what is none."""
        found = self.names(name, ())
        if wrong := next((each for each in found if not re.fullmatch(r"[^\s@]+@[^\s@]+", each)), None):
            raise ImproperlyConfigured(f"{name} holds {wrong!r}. Set it to e-mail addresses, separated by commas.")
        return found

    def database(self, name: str, default: str) -> dict[str, Any]:
        """Return Django's settings for a database address. Raise `ImproperlyConfigured` for an invalid address.

        `sqlite:///relative/path`, `sqlite:////absolute/path` or `postgresql://user:password@host:port/name`, with
        `?pooler=transaction` behind a pooler that lends a connection for each transaction.
        """
        address = self.text(name, default)
        scheme, _, rest = address.partition("://")
        if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
            return _sqlite(name, rest[1:])
        if scheme in {"postgresql", "postgres"}:
            return _postgresql(name, address)
        # the address may hold a password, so it is not repeated
        raise ImproperlyConfigured(
            f"{name} is not a database address. Set it to sqlite:///PATH or postgresql://USER:PASSWORD@HOST:PORT/NAME."
        )

    def broker(self, name: str, default: str) -> tuple[str, dict[str, Any]]:
        """Return a broker's address and Celery's transport options for it.

        `redis://:PASSWORD@HOST:PORT/NUMBER` (`rediss://` for TLS), or `filesystem:///absolute/folder`: Celery's
        file-system transport, for one host without services. Raise `ImproperlyConfigured` for an invalid address.
        """
        address = self.text(name, default)
        scheme, _, rest = address.partition("://")
        if _is_redis(address):
            # messages are acknowledged early, so slow tasks are not delivered twice
            return address, _WAIT_FOR_REDIS
        if scheme == "filesystem" and rest.startswith("/"):
            return "filesystem://", _file_broker(Path(rest))
        raise ImproperlyConfigured(f"{name} is not a broker address. Set it to redis://:PASSWORD@HOST:PORT/NUMBER.")

    def cache(self, name: str, broker: str, *, otherwise_in: Path) -> dict[str, Any]:
        """Return Django's settings of the cache shared by all processes.

        The cache is the Redis server in the variable `name`, else the one in the variable `broker`, else files.
        Counters in it, such as login attempts, must be shared by all processes. Raise `ImproperlyConfigured` for an
        invalid address.
        """
        address = self.text(name, "")
        if address and not _is_redis(address):
            # the address may hold a password, so it is not repeated
            raise ImproperlyConfigured(
                f"{name} is not the address of a Redis server. Set it to redis://:PASSWORD@HOST:PORT/NUMBER, or "
                "rediss:// for TLS."
            )
        address = address or self.text(broker, "")
        if _is_redis(address):
            return {
                "BACKEND": "config.json_cache.JsonRedisCache",
                "LOCATION": address,
                "KEY_PREFIX": "gauntlet-cache",
                "OPTIONS": _WAIT_FOR_REDIS | {"socket_connect_timeout": 2.0, "socket_timeout": 2.0},
            }
        return {
            "BACKEND": "config.json_cache.JsonFileBasedCache",
            "LOCATION": str(otherwise_in),
            "OPTIONS": {"MAX_ENTRIES": MAX_CACHE_FILES},
        }

    def bucket(self, name: str) -> dict[str, Any] | None:
        """Return the options of an `ObjectBucket`; None if the variable is unset.

        `s3+https://KEY:SECRET@HOST:PORT/BUCKET/FOLDER?region=REGION`, of which port, folder and region can be left out;
        `s3+http` without TLS, in a private network. Raise `ImproperlyConfigured` for an invalid address.
        """
        address = self.text(name, "")
        if not address:
            return None
        parts = urlsplit(address)
        bucket, _, folder = parts.path.strip("/").partition("/")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        known = parts.scheme in {"s3+https", "s3+http"} and options.keys() <= {"region"}
        if not (known and bucket and parts.hostname and parts.username and parts.password and _has_port(parts)):
            # the address holds a password, so it is not repeated
            raise ImproperlyConfigured(
                f"{name} is not the address of a bucket. Set it to s3+https://KEY:SECRET@HOST/BUCKET, with "
                "?region=REGION at Amazon."
            )
        return {
            "endpoint_url": f"{parts.scheme.removeprefix('s3+')}://{parts.netloc.rpartition('@')[2]}",
            "access_key": unquote(parts.username),
            "secret_key": unquote(parts.password),
            "bucket_name": bucket,
            "location": folder,
            "region_name": options.get("region", "us-east-1"),
        }

    def secret(self, name: str, *, kept_in: Path) -> str:
        """Return the secret in the variable, else one that is created at the first start in the file `kept_in`.

        Only the owner can read the file. Set the same variable on all hosts of a site. Raise `ImproperlyConfigured` for
        a secret of fewer than 50 characters, or if the file cannot be written.
        """
        value = self.text(name, "") or _stored_secret(name, kept_in)
        if len(value) < 50:
            raise ImproperlyConfigured(f"{name} is shorter than 50 characters. Set it to a longer random text.")
        return value


def _is_redis(address: str) -> bool:
    scheme, _, rest = address.partition("://")
    return scheme in {"redis", "rediss"} and bool(rest)


def _has_port(parts: SplitResult) -> bool:
    """Return False if the port of an address is no number."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def _file_broker(folder: Path) -> dict[str, Any]:
    messages, control = folder / "messages", folder / "control"
    for path in (messages, control):
        path.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.2,
    }


def _sqlite(name: str, path: str) -> dict[str, Any]:
    try:
        make_database_private(Path(path))
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} is open to other users of this host and cannot be made private ({error}). Run: chmod 600 "
            f"{path}. Or set {name} to a file owned by this user."
        ) from error
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        # tests use a file, too: an in-memory database would be shared by all threads, unlike on a real site
        "TEST": {"NAME": f"{path}.test"},
        # writers wait at the start of a transaction instead of failing in the middle
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }


_POOLED = "pooler=transaction"

# where the network between two hosts is cut, nothing ends a connection: without limits a worker would wait for a
# quarter of an hour, long after its lease, and each request for as long as its client does
_WAIT_FOR_REDIS = {"socket_connect_timeout": 5.0, "socket_timeout": 10.0, "socket_keepalive": True}
_WAIT_FOR_POSTGRESQL = {
    "connect_timeout": 10,
    "tcp_user_timeout": 20_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
# the same for the server: a transaction of a host that is gone would keep its locks for more than two hours
_END_WITH_CLIENT = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "tcp_user_timeout": 20_000,
        "tcp_keepalives_idle": 10,
        "tcp_keepalives_interval": 5,
        "tcp_keepalives_count": 3,
    }.items()
)


def _postgresql(name: str, address: str) -> dict[str, Any]:
    parts = urlsplit(address)
    try:
        port = parts.port or 5432
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} has an invalid port. Set it to a number from 0 to 65535.") from error
    database = unquote(parts.path.lstrip("/"))
    if not database or not parts.hostname:
        raise ImproperlyConfigured(f"{name} lacks a host or a database. Use postgresql://USER:PASSWORD@HOST:PORT/NAME.")
    if parts.query not in {"", _POOLED}:
        raise ImproperlyConfigured(f"{name} has an unknown parameter after `?`. Use `?{_POOLED}`, or none.")
    pooled = parts.query == _POOLED
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname,
        "PORT": port,
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        # a pooler has settings of its own, and refuses these
        "OPTIONS": _WAIT_FOR_POSTGRESQL | ({} if pooled else {"options": _END_WITH_CLIENT}),
        # outside of a transaction they would outlive the loan of a connection
        "DISABLE_SERVER_SIDE_CURSORS": pooled,
    }


def _stored_secret(name: str, path: Path) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # write a temporary file and link it, so that two processes that start together use one secret
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
