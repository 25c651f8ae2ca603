"""The command `gauntlet verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signing import sign
from evaluation.cli import main


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main(["verify", *map(str, words)])
    return status, *capsys.readouterr()


def test_the_exit_status_says_whether_a_bundle_is_valid_unproved_or_changed(
    signed: bytes, seed: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, key = tmp_path / "bundle.jsonl", tmp_path / "signing-key.txt"
    bundle.write_bytes(signed)
    key.write_text(f"{public_key(seed)}\n")
    for given in (public_key(seed), key):
        status, out, err = command(capsys, bundle, "--key", given)
        assert (status, err) == (0, "")
        assert out.splitlines()[-1] == f"{bundle}: the signature is valid, and its results follow from its rows"
        assert any(line.startswith("commitment to the samples 0892ec6a0b2d83bf") for line in out.splitlines())
    assert json.loads(command(capsys, bundle, "--key", key, "--json")[1])["key_given"] is True

    status, out, _ = command(capsys, bundle)
    assert (status, "signed by the key inside the bundle: compare that key" in out.splitlines()[-1]) == (5, True)
    status, out, _ = command(capsys, bundle, "--json")
    assert (status, json.loads(out)["key_given"]) == (5, False)

    bundle.write_bytes(signed.replace(b'"nearer":8', b'"nearer":7'))
    status, out, _ = command(capsys, bundle)
    assert status == 3
    line = signed[: signed.index(b'"nearer":8')].count(b"\n") + 1
    assert f"line {line}: it is not the line that was signed" in out.splitlines()
    status, out, _ = command(capsys, bundle, "--json")
    assert (status, json.loads(out)["problems"][0]["line"]) == (3, line)


def test_it_counts_what_it_does_not_print(
    written: bytes, seed: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "bundle.jsonl"
    lines = written.splitlines(keepends=True)
    bundle.write_bytes(sign(b"".join(line for line in lines if b'"kind":"results"' not in line), seed))
    status, out, err = command(capsys, bundle)
    shown = [line for line in out.splitlines() if line.startswith("line ")]
    assert (status, len(shown)) == (3, 100)
    more = json.loads(command(capsys, bundle, "--json")[1])["more_problems"]
    assert f"and {more} more" in out.splitlines()
    assert f"{100 + more} problems" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.jsonl",), "is not readable"),
        (("empty",), "the file is empty"),
        (("empty", "--key", "nowhere"), "neither 64 hexadecimal digits nor a readable text file"),
        (("empty", "--key", "empty"), "does not contain exactly one public key"),
    ],
)
def test_it_rejects(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    status, _, err = command(capsys, *words)
    assert status == 2
    assert message in err


def test_what_was_given_for_a_key_is_not_repeated(
    signed: bytes, seed: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, empty = tmp_path / "bundle.jsonl", tmp_path / "c0ffee"
    bundle.write_bytes(signed)
    empty.touch()
    # a secret that was pasted with a digit too many, one too long for a name, one that is no text
    for given in (f"{seed.hex()}0", seed.hex() * 99, empty):
        _, out, err = command(capsys, bundle, "--key", given)
        assert seed.hex() not in out + err
        assert "c0ffee" not in err
