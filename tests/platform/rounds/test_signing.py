"""The key that signs bundles."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nacl.signing import VerifyKey
from pytest_django import Settings

from core.errors import Fault
from rounds.signing import public_key, seed, signed


@pytest.fixture(autouse=True)
def kept(settings: Settings, tmp_path: Path) -> Path:
    """Where the key is kept; nothing is there yet, the folder neither."""
    settings.STATE = tmp_path / "state"
    return tmp_path / "state" / "signing-key"


def test_it_works(kept: Path) -> None:
    assert seed() == seed()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    VerifyKey(bytes.fromhex(public_key()))
    body = b'{"kind":"head"}\n'
    assert signed(body) == signed(body)
    assert signed(body).startswith(body)
    assert public_key().encode() in signed(body)
    assert seed().hex().encode() not in signed(body)


def test_two_at_once_end_with_one_key(kept: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: seed(), range(8)))) == 1
    assert [path.name for path in kept.parent.iterdir()] == ["signing-key"]


@pytest.mark.parametrize("content", ["", "abc", "zz" * 32, "ab" * 31, "ab" * 33])
def test_it_rejects_a_damaged_key_and_leaves_it(kept: Path, content: str) -> None:
    kept.parent.mkdir()
    kept.write_text(content)
    with pytest.raises(Fault, match="cannot be used"):
        seed()
    assert kept.read_text() == content
