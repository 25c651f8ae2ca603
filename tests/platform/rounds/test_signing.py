"""The keys that sign bundles: made once, never lost silently, and each signing the next."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from nacl.signing import VerifyKey
from pytest_django import Settings

from core.errors import Fault, Refusal
from core.models import Event
from evaluation.formats.query.bundle.verify import verify
from rounds.models import SigningKey
from rounds.release.signing_keys import all_keys, public_key, replace_lost, rotate, signed
from rounds.release.signing_secrets import next_seed, promote, seed

BODY = b'{"kind":"head"}\n'


@pytest.fixture(autouse=True)
def kept(settings: Settings, tmp_path: Path) -> Path:
    """The path of the key; file and folder do not exist yet."""
    settings.STATE = tmp_path / "state"
    return tmp_path / "state" / "signing-key"


def bundle() -> bytes:
    """The body, signed with the site's key."""
    with signed(BytesIO(BODY)) as file:
        return file.read()


def about_key(content: bytes, key: str) -> list[str]:
    """What `verify` finds wrong with the signature, given `key`."""
    return [problem.text for problem in verify(content, key).problems if problem.line == content.count(b"\n")]


@pytest.mark.django_db
def test_a_bundle_is_signed_with_one_private_key_and_names_its_public_key(kept: Path) -> None:
    VerifyKey(bytes.fromhex(public_key()))
    assert bundle() == bundle()
    assert bundle().startswith(BODY)
    assert public_key().encode() in bundle()
    assert seed().hex().encode() not in bundle()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert about_key(bundle(), public_key()) == []


def test_concurrent_calls_make_one_key(kept: Path) -> None:
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


@pytest.mark.django_db
def test_a_replaced_key_signs_the_next_and_old_keys_lead_to_it(kept: Path) -> None:
    first = public_key()
    before = bundle()
    rotate(by=None, reason="It is a year old.")
    rotate(by=None, reason="A disk was sold.")
    second, third = [key.public for key in all_keys()][1:]
    assert (public_key(), first != second != third) == (third, True)
    assert Event.objects.filter(verb="rotate").count() == 2
    assert [path.name for path in kept.parent.iterdir()] == ["signing-key"]
    for key in (first, second, third):
        assert about_key(bundle(), key) == []
    assert about_key(before, first) == []
    # it does not lead back: who has an old secret cannot sign for the new key
    assert "neither the given key" in about_key(before, third)[0]
    assert [step["successor"] for step in json.loads(bundle().splitlines()[-1])["chain"]] == [second, third]


@pytest.mark.django_db
def test_a_lost_key_is_a_fault_and_never_another_key(kept: Path, caplog: pytest.LogCaptureFixture) -> None:
    lost = public_key()
    secret = kept.read_text()
    kept.unlink()
    for act in (bundle, lambda: rotate(by=None, reason="It is gone.")):
        with pytest.raises(Fault, match="restore the file signing-key"):
            act()
    assert "CRITICAL" in caplog.text
    assert (kept.exists(), public_key()) == (False, lost)
    # nor does another site's key
    kept.write_text("5" * 64)
    with pytest.raises(Fault, match="is missing"):
        bundle()
    kept.write_text(secret)
    assert about_key(bundle(), lost) == []


@pytest.mark.django_db
def test_nothing_leads_from_a_lost_key_to_its_successor(kept: Path) -> None:
    lost = public_key()
    with pytest.raises(Refusal, match="the secret of the signing key exists"):
        replace_lost(by=None, reason="I want another.")
    kept.unlink()
    replace_lost(by=None, reason="The disk and its backup burnt.")
    assert public_key() != lost
    assert about_key(bundle(), public_key()) == []
    assert "neither the given key nor a successor of it" in about_key(bundle(), lost)[0]


@pytest.mark.django_db
def test_an_interrupted_change_of_keys_is_completed(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public_key()
    monkeypatch.setattr("rounds.release.signing_secrets.promote", lambda: None)
    fresh = rotate(by=None, reason="The power goes before its file is in its place.")
    assert next_seed() != seed()
    monkeypatch.setattr("rounds.release.signing_secrets.promote", promote)
    assert about_key(bundle(), fresh.public) == []
    assert [path.name for path in kept.parent.iterdir()] == ["signing-key"]


@pytest.mark.django_db
def test_an_operator_changes_it_by_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("signing_key", "rotate", "--reason", "It is a year old.")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines] == [key.public for key in SigningKey.objects.order_by("pk")]
    assert len(lines) == 2
    with pytest.raises(CommandError, match="the secret of the signing key exists"):
        call_command("signing_key", "replace", "--reason", "I want another.")
