"""What players are called in public."""

from __future__ import annotations

import hmac

from evaluation.domain.pseudonyms import pseudonym

SECRET = bytes(range(32))
DIGEST = f"sha256:{'0123456789abcdef' * 4}"


def test_a_pseudonym_is_a_keyed_hash_of_the_digest() -> None:
    key = hmac.new(SECRET, b"gauntlet-player-pseudonym-1", "sha256").digest()
    assert pseudonym(SECRET, DIGEST) == f"player-{hmac.new(key, DIGEST.encode(), 'sha256').hexdigest()[:32]}"
    assert pseudonym(SECRET, DIGEST) == "player-3ac443d0f7a7517d7283714b3276b626"


def test_it_follows_from_secret_and_digest() -> None:
    assert pseudonym(SECRET, DIGEST) == pseudonym(SECRET, DIGEST)
    assert len({pseudonym(SECRET, DIGEST), pseudonym(SECRET, f"{DIGEST}0"), pseudonym(b"another", DIGEST)}) == 3
