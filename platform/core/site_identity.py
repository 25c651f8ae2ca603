"""The identity of the site: one random identifier in the database and in the state folder.

A program that has the database of one site and the state folder of another one, or a new folder, would lack its
repositories and objects. The first program of a new site writes both; afterwards the two must be equal. A worker host
with a folder of its own (GAUNTLET_HOST_TOKEN) asks the web server from which it fetches commits instead.
"""

from __future__ import annotations

import logging
import os
import uuid
from contextlib import suppress
from pathlib import Path

import requests
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from core import clock, event_log
from core.database_retry import persist
from core.errors import HostFault, Refusal
from core.extension_point import ExtensionPoint
from core.missing_migrations_check import require_tables_of_this_version
from core.models import SiteIdentity

FILE = "site-identity"
"""Name of the file in the state folder."""

has_files: ExtensionPoint[[], bool | None] = ExtensionPoint()
"""Does the state folder have files that rows in the database name? None if no row names any."""

log = logging.getLogger(__name__)

_ADOPT = "manage.py site_identity adopt --reason WHY"
_KEY = 1
_SECONDS = 10.0


def require_identity() -> None:
    """Compare the identifiers; a site without any gets one. Raise `HostFault` with cause and fix if they differ."""
    if settings.HOST_TOKEN:
        _require_same_site()
        return
    known, found = _in_database(), _in_folder()
    if known is None and found is None:
        known, found = _begin(), _in_folder()
    if known is None:  # the program that wrote the file may be about to commit
        known = _in_database_after_others()
    if known != found:
        raise HostFault(_difference(known, found))


def require_identity_at_start() -> None:
    """Check at the start of a program as `require_identity`; raise `ImproperlyConfigured`, which stops the start.

    A database that cannot be reached now does not stop it: workers check again before they claim work.
    """
    try:
        tables = connection.introspection.table_names()
        # without the columns of this version, work would fail and count against the item
        recorded = MigrationRecorder.Migration._meta.db_table in tables  # not in tests, which make tables at once
        if SiteIdentity._meta.db_table not in tables:
            raise ImproperlyConfigured("the database is not that of this version\n  fix: run: manage.py migrate")
        if recorded:
            require_tables_of_this_version()
        require_identity()
    except (HostFault, Refusal) as error:
        raise ImproperlyConfigured(str(error)) from error
    except DatabaseError:
        log.warning("the identity of the site cannot be checked: the database cannot be reached", exc_info=True)
    finally:
        connection.close()  # a server forks afterwards


def identity() -> str:
    """Return the identifier in the database; "" before the first start."""
    return _in_database() or ""


def adopt(*, reason: str, without_files: bool = False) -> str:
    """Make the state folder the one of the database, as an operator decides; return the identifier.

    The identifier in the database stays; without one, that of the folder is taken. Raise `Refusal` if the folder has no
    file that the database names, unless `without_files`.
    """
    if not without_files and False in has_files.answers():
        raise Refusal(
            _lacks_files(),
            fix="restore the site's folder from the backup, or choose it with GAUNTLET_STATE. If its files are lost, "
            f"run: {_ADOPT} --without-files",
        )
    known = _in_database() or _in_folder() or _new()
    with transaction.atomic():
        row, _ = SiteIdentity.objects.get_or_create(pk=_KEY, defaults={"value": known, "made_at": clock.now()})
        _write(row.value, replace=True)
        event_log.record("adopt_state_folder", row, reason=reason, without_files=without_files)
    return row.value


def _require_same_site() -> None:
    """Compare the identifiers of the database and of the web server at SITE_ADDRESS; raise `HostFault`."""
    address = f"{settings.SITE_ADDRESS}/hosts/identity"
    try:
        answer = requests.get(
            address,
            headers={"Authorization": f"Bearer {settings.HOST_TOKEN}"},
            timeout=_SECONDS,
            allow_redirects=False,
        )
        found = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise HostFault(
            f"{settings.SITE_ADDRESS}, from which this host fetches commits, does not answer: {error}\n"
            "  fix: see that it runs, and that GAUNTLET_ADDRESS is its address"
        ) from error
    if not answer.ok or not isinstance(found, dict):
        raise HostFault(
            f"{settings.SITE_ADDRESS} refuses this host ({answer.status_code})\n"
            "  fix: let it join again: manage.py join (docs/operating.md, Worker hosts)"
        )
    if found.get("identity") != identity():
        raise HostFault(
            f"{settings.SITE_ADDRESS} is another site than that of the database\n"
            "  fix: set GAUNTLET_ADDRESS and DATABASE_URL to those of one site, or let this host join again"
        )


def _begin() -> str | None:
    """Write a new identifier to both; if another program does at the same time, its identifier stays."""
    if False in has_files.answers():
        raise HostFault(f"{_lacks_files()}\n  fix: {_choose_folder()}")
    value = _new()
    try:
        with transaction.atomic():
            row, made = SiteIdentity.objects.get_or_create(pk=_KEY, defaults={"value": value, "made_at": clock.now()})
            if made:  # before the commit: a program that sees the row finds the file
                _write(row.value)
    except DatabaseError:
        _take_back(value)
        raise
    return row.value


def _take_back(value: str) -> None:
    """Let the folder have the identifier of the database again, where the transaction that began with `value` failed.

    Otherwise no host would take work until an operator adopts the folder.
    """
    known = persist(_in_database)  # the commit may have taken effect
    if known == value or _in_folder() != value:
        return
    if known is None:
        _path().unlink(missing_ok=True)
    else:
        _write(known, replace=True)


def _in_database() -> str | None:
    return SiteIdentity.objects.filter(pk=_KEY).values_list("value", flat=True).first()


def _in_database_after_others() -> str | None:
    """Return the identifier in the database once no other program is writing it: a row of the same key waits for it."""
    with suppress(IntegrityError), transaction.atomic():
        SiteIdentity.objects.create(pk=_KEY, value="", made_at=clock.now())
        transaction.set_rollback(True)
    return _in_database()


def _in_folder() -> str | None:
    try:
        return _path().read_text().strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HostFault(f"{_path()} cannot be read: {error}") from error


def _write(value: str, *, replace: bool = False) -> None:
    """Write the file, completely or not at all. One that exists stays, unless `replace`."""
    path = _path()
    fresh = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        with fresh.open("w") as file:
            file.write(f"{value}\n")
            file.flush()
            os.fsync(file.fileno())
        if replace:
            fresh.replace(path)
            return
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
    except OSError as error:
        raise HostFault(f"{path} cannot be written: {error}") from error
    finally:
        fresh.unlink(missing_ok=True)


def _difference(known: str | None, found: str | None) -> str:
    if found is None:
        problem = f"{settings.STATE} is not the state folder of this site: it has no file {FILE}"
    elif known is None:
        problem = f"{settings.STATE} is the state folder of the site {found}, and the database is of no site yet"
    else:
        problem = f"{settings.STATE} is the state folder of the site {found}, and the database is that of {known}"
    return f"{problem}\n  fix: {_choose_folder()}"


def _lacks_files() -> str:
    return f"{settings.STATE} has none of the repositories or none of the sample sets that the database names"


def _choose_folder() -> str:
    return (
        "set GAUNTLET_STATE to the folder that all hosts of the site share, and DATABASE_URL to its database; see that "
        f"the folder is mounted. If they belong together, for example after a restored backup, run: {_ADOPT}"
    )


def _path() -> Path:
    folder: Path = settings.STATE
    return folder / FILE


def _new() -> str:
    return uuid.uuid4().hex
