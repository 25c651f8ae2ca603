"""Signed bytes begin with their purpose, and keys name their successors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nacl.signing import SigningKey

from evaluation.bundle.canonical_json import canonical, encode
from evaluation.bundle.key_succession import Succession, is_chain, key_id, public_key, succeed
from evaluation.bundle.signing import line_hashes, sign
from evaluation.formats.query.bundle.verify import verify
from tests.evaluation.bundle.bodies import decode

DATE = "2026-11-22T10:00:00Z"
OLD, NEW, STRANGER = b"o" * 32, b"n" * 32, b"s" * 32


def problems(bundle: bytes, key: str) -> list[str]:
    return [problem.text for problem in verify(bundle, key).problems]


def test_a_bundle_verifies_with_its_key_and_with_the_key_that_named_it(written: bytes) -> None:
    step = succeed(OLD, public_key(NEW), DATE)
    bundle = sign(written, NEW, [step])
    assert problems(bundle, public_key(NEW)) == []
    assert problems(bundle, public_key(OLD)) == []
    line = list(decode(bundle))[-1]
    assert line["key_id"] == key_id(public_key(NEW))
    assert line["chain"] == [
        {"date": DATE, "key": public_key(OLD), "signature": step.signature, "successor": public_key(NEW)}
    ]


def test_a_statement_can_be_checked_by_hand() -> None:
    step = succeed(OLD, public_key(NEW), DATE)
    statement = f'{{"date":"{DATE}","key":"{public_key(OLD)}","successor":"{public_key(NEW)}"}}'
    signed = b"gauntlet-key-1\n" + statement.encode()
    assert SigningKey(OLD).verify_key.verify(signed, bytes.fromhex(step.signature)) == signed


def test_it_rejects_another_key_without_a_chain(written: bytes) -> None:
    (problem,) = problems(sign(written, NEW), public_key(OLD))
    assert "neither the given key nor a successor of it" in problem


def test_it_rejects_a_chain_that_the_old_key_did_not_sign(written: bytes) -> None:
    ours = succeed(OLD, public_key(NEW), DATE)
    forged = replace(succeed(STRANGER, public_key(NEW), DATE), key=public_key(OLD))
    for chain in (
        [forged],
        [replace(ours, date="2027-01-01T00:00:00Z")],
        [replace(ours, successor=public_key(STRANGER))],
        [succeed(OLD, public_key(STRANGER), DATE)],
        [ours, ours],
    ):
        assert "do not lead to the key that signed" in problems(sign(written, NEW, chain), public_key(OLD))[0]


def test_it_rejects_a_signature_without_its_context(written: bytes) -> None:
    lines = list(decode(sign(written, NEW)))
    for context in (b"", b"gauntlet-bundle-1\n", b"gauntlet-key-1\n"):
        message = context + canonical(line_hashes(written.splitlines(keepends=True)))
        lines[-1]["signature"] = SigningKey(NEW).sign(message).signature.hex()
        (problem,) = problems(encode(lines), public_key(NEW))
        assert "the signature is not valid for these lines" in problem


def test_it_rejects_another_identifier(written: bytes) -> None:
    lines = list(decode(sign(written, NEW)))
    lines[-1]["key_id"] = key_id(public_key(OLD))
    assert "the identifier of its key" in problems(encode(lines), public_key(NEW))[0]


def test_it_rejects_more_keys_than_a_bundle_names(written: bytes) -> None:
    step = succeed(OLD, public_key(OLD), DATE)
    assert "more than 64 earlier keys" in problems(sign(written, OLD, [step] * 65), public_key(OLD))[0]


@pytest.mark.parametrize(("name", "value"), [("date", "today"), ("successor", "0" * 63), ("key", "Z" * 64)])
def test_no_statement_holds_that_is_not_well_formed(name: str, value: str) -> None:
    step = Succession(**{**vars(succeed(OLD, public_key(NEW), DATE)), name: value})
    assert not is_chain([step], public_key(NEW))
