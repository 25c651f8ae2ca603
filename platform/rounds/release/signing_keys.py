"""Keys that sign result bundles: the current one, earlier ones, and their succession.

Rows hold the public keys, files the secrets. Once there is a row, a missing secret is a fault: a new key never replaces
it automatically.
"""

from __future__ import annotations

import logging
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from django.db import transaction

from core import clock, event_log, platform_error_report
from core.errors import Fault, Refusal
from core.time_format import for_programs
from rounds.models import SigningKey
from rounds.release import signing_secrets
from rounds.release.signing_secrets import MOST_SUCCESSIONS, Succession, key_id, sign_file, succeed
from rounds.release.signing_secrets import public_key as public_of
from rounds.running.transitions import require_reason

if TYPE_CHECKING:
    from accounts.models import User

__all__ = ["all_keys", "key_id", "public_key", "replace_lost", "require_secret", "rotate", "signed"]

log = logging.getLogger(__name__)


def public_key() -> str:
    """Return the public key that verifies this site's new bundles: 64 hexadecimal digits."""
    return _current().public


def require_secret() -> bool:
    """Raise `Fault` if the secret of the current key is missing; return False if nothing was signed yet."""
    current = SigningKey.objects.filter(successor=None).first()
    if current is not None:
        _secret_of(current)
    return current is not None


def all_keys() -> list[SigningKey]:
    """Return every key that signs or signed this site's bundles, the oldest first."""
    _current()
    return list(SigningKey.objects.select_related("successor").order_by("pk"))


def signed(body: IO[bytes]) -> IO[bytes]:
    """Return an open file with the content of `body` and this site's signature, with the keys that lead to it.

    Equal bodies give equal bytes until the key changes. The caller closes the file.
    """
    current = _current()
    secret, chain = _secret_of(current), _chain(current)  # before the file, which nobody would close
    file = TemporaryFile()  # noqa: SIM115
    sign_file(body, file, secret, chain)
    file.seek(0)
    return file


def rotate(*, by: User | None, reason: str) -> SigningKey:
    """Make the current key sign a new one, which replaces it; the old secret is deleted.

    Earlier signatures stay valid. `by` is None on the server's command line. Raise `Refusal`, and `Fault` if the secret
    of the current key is missing.
    """
    reason = require_reason(reason, "a new signing key")
    current = _current()
    if len(_chain(current)) == MOST_SUCCESSIONS:
        raise Refusal(f"the site has had {MOST_SUCCESSIONS} signing keys, the most that a bundle can list")
    return _succeeded(current, _secret_of(current), by=by, reason=reason)


def replace_lost(*, by: User | None, reason: str) -> SigningKey:
    """Start with a new key where the secret of the current one is lost: no signature links the two.

    Raise `Refusal`, also if the secret still exists.
    """
    reason = require_reason(reason, "a new signing key")
    current = _current()
    if _found(current) is not None:
        raise Refusal("the secret of the signing key exists", fix="rotate the key")
    return _succeeded(current, None, by=by, reason=reason)


def _current() -> SigningKey:
    newest = SigningKey.objects.filter(successor=None).first()
    if newest is None:
        # nothing was signed yet, or by a version without rows: the file is the key
        made_at = clock.now().replace(microsecond=0)
        newest, _ = SigningKey.objects.get_or_create(
            public=public_of(signing_secrets.seed()), defaults={"made_at": made_at}
        )
    return newest


def _secret_of(key: SigningKey) -> bytes:
    found = _found(key)
    if found is None:
        problem = (
            f"the secret of the signing key {key_id(key.public)} is missing: restore the file signing-key from the "
            "backup. Only an operator can make a new key (manage.py signing_key)"
        )
        fault = Fault(problem)
        platform_error_report.report(log, fault, "%s", problem, level=logging.CRITICAL)
        raise fault
    return found


def _found(key: SigningKey) -> bytes | None:
    """Return the secret of `key`, None if no file holds it. Completes an interrupted change of keys."""
    stored = signing_secrets.stored_seed()
    if stored is not None and public_of(stored) == key.public:
        return stored
    waiting = signing_secrets.waiting_seed()
    if waiting is not None and public_of(waiting) == key.public:
        signing_secrets.promote()
        return waiting
    return None


def _succeeded(current: SigningKey, secret: bytes | None, *, by: User | None, reason: str) -> SigningKey:
    made_at = clock.now().replace(microsecond=0)
    public = public_of(signing_secrets.next_seed())
    with transaction.atomic():
        locked_key = SigningKey.objects.select_for_update(no_key=True).get(pk=current.pk)
        if locked_key.successor_id is not None:
            raise Refusal("the signing key has just changed", fix="check the current key, then try again")
        fresh = SigningKey.objects.create(public=public, made_at=made_at)
        locked_key.successor = fresh
        locked_key.statement = succeed(secret, public, for_programs(made_at)).signature if secret else ""
        locked_key.save()
        event_log.record(
            "rotate" if secret else "replace", fresh, by=by, reason=reason, key=public, before=locked_key.public
        )
    signing_secrets.promote()
    return fresh


def _chain(key: SigningKey) -> list[Succession]:
    """Return the statements that lead to `key`, the oldest first, back to a lost key or the first one."""
    by_successor = {row.successor_id: row for row in SigningKey.objects.exclude(statement="")}
    chain: list[Succession] = []
    after = key
    while (before := by_successor.get(after.pk)) is not None:
        chain.insert(0, Succession(before.public, after.public, for_programs(after.made_at), before.statement))
        after = before
    return chain
