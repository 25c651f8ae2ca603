"""docs/protocol.md agrees with the code: numbers, layouts, reasons, and its examples byte by byte."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.players import Side, TrackName
from evaluation.formats.query.referee import handshake
from evaluation.formats.query.referee.match_players import RESTARTS
from evaluation.formats.query.rules import QueryRules
from evaluation.protocol.listener import Listener
from evaluation.protocol.model_time import MODEL_GRACE_SECONDS
from gauntlet import frames

CODES = {"u16": "H", "i16": "h", "u32": "I", "u64": "Q", "4 bytes": "4s"}
TYPES = [
    "HELLO", "QUERY", "FINISH", "LABELS", "SCORES", "GRADIENTS", "WELCOME", "PIECE", "ANSWERS", "PREDICT", "REJECTED",
    "BYE", "ASK_SCORES", "ASK_GRADIENTS",
]  # fmt: skip
STRUCTS = ["HEADER", "HELLO_PAYLOAD", "WELCOME_PAYLOAD", "PIECE_PAYLOAD", "PIECE_SAMPLE", "FINISH_SAMPLE"]


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "protocol.md").read_text(encoding="utf-8")


def table_after(page: str, start: str) -> list[list[str]]:
    """Return the cells of the first table after a text, without its header."""
    rows = re.search(r"(?:^\|.*\n)+", page[page.index(start) + len(start) :], re.MULTILINE)
    assert rows is not None
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[0].splitlines()[2:]]


def test_types_are_those_of_the_code(page: str) -> None:
    rows = table_after(page, "before parsing it.")
    assert {row[1]: int(row[0]) for row in rows} == {name: getattr(frames, name) for name in TYPES}
    for row in rows:
        assert (row[2] == "referee") is (int(row[0]) >= frames.WELCOME)


@pytest.mark.parametrize("name", STRUCTS)
def test_layouts_are_those_of_the_code(page: str, name: str) -> None:
    rows = table_after(page, f"**{name}**")
    layout = "<"
    for offset, kind, _ in rows:
        assert int(offset) == struct.calcsize(layout)
        layout += CODES[kind]
    of_the_code = re.sub(r"(\d+)([HI])", lambda match: match[2] * int(match[1]), getattr(frames, name).format)
    assert layout == of_the_code


def test_reasons_are_those_of_the_code(page: str) -> None:
    rows = table_after(page, "next piece starts normally.")
    assert rows == [[f"`{reason}`", reason.text] for reason in Reason]


def test_constants_are_those_of_the_code(page: str) -> None:
    rules = QueryRules()
    for words in (
        f"protocol version: {frames.VERSION}",
        f"role: {frames.ROLE_MODEL} model, {frames.ROLE_ATTACK} attack",
        f"`{frames.MAGIC.decode()}`",
        f"**{frames.UNCLASSIFIED}** (UNCLASSIFIED",
        f"**{frames.EXHAUSTED}** (EXHAUSTED",
        f"status: {frames.STATUS_DONE} done, {frames.STATUS_RAISED} the attack raised",
        f"the most images of a frame: {frames.MAX_COUNT}",
        f"| set-up | {rules.setup_seconds:g} s |",
        f"a reserve of {MODEL_GRACE_SECONDS:g} s:",
        f"under {rules.model_seconds_per_image * 1000:g} ms per image",
        f"{rules.attack_seconds_per_sample:g} s for each sample of the piece",
        f"{frames.MAX_COUNT * (2 + rules.shape.size):,} bytes",
        f"{rules.piece_samples} under the rules `{rules.name}`",
    ):
        assert words in page
    assert (RESTARTS, "at most twice" in page) == (2, True)


def example(page: str, kind: str) -> list[tuple[str, bytes]]:
    block = page.split(f"```{kind}\n")[1].split("```")[0]
    lines = [line.split("#")[0].split(maxsplit=1) for line in block.splitlines()]
    return [(speaker, bytes.fromhex(text)) for speaker, text in lines]


@pytest.mark.parametrize("kind", ["model", "attack"])
def test_the_players_in_perl_say_what_the_example_shows(
    root: Path, page: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = root / "tests" / "repos" / "protocol" / f"perl-{kind}" / f"{kind}.pl"
    listener = Listener(Path("referee.sock"))
    player = subprocess.Popen(["perl", str(script)], env={**os.environ, "GAUNTLET_SOCKET": "referee.sock"})
    try:
        with listener.accept(time.monotonic() + 30, lambda: player.poll() is not None) as connected:
            connected.settimeout(30.0)
            for speaker, frame in example(page, kind):
                if speaker == "referee":
                    connected.sendall(frame)
                else:
                    assert connected.recv(1024).hex(" ") == frame.hex(" ")
        assert player.wait(timeout=30) == 0
    finally:
        listener.close()
        player.kill()
        player.wait()


@pytest.mark.parametrize(("kind", "side"), [("model", Side.MODEL), ("attack", Side.ATTACK)])
def test_the_referee_says_what_the_example_shows(page: str, kind: str, side: Side) -> None:
    (_, hello), (_, welcome), *rest = example(page, kind)
    rules = QueryRules(shape=ImageShape(1, 2, 3), classes=10)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        theirs.sendall(hello)
        channel = handshake.welcome(ours, side, TrackName.UNTARGETED, rules, time.monotonic() + 60)
        assert theirs.recv(1024).hex(" ") == welcome.hex(" ")
        channel.bye()
        assert theirs.recv(1024) == rest[-1][1]


@pytest.mark.parametrize("kind", ["model", "attack"])
def test_lengths_in_the_example_are_right(page: str, kind: str) -> None:
    sizes = {frames.PREDICT: (0, 6), frames.LABELS: (0, 2), frames.PIECE: (16, 14), frames.QUERY: (0, 8)}
    sizes |= {frames.ANSWERS: (0, 6), frames.FINISH: (0, 4), frames.HELLO: (8, 0), frames.WELCOME: (20, 0)}
    for _, frame in example(page, kind):
        length, type_, count, _ = frames.HEADER.unpack_from(frame)
        fixed, each = sizes.get(type_, (0, 0))
        assert len(frame) - frames.HEADER.size == length == fixed + count * each
