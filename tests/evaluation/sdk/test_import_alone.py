"""The SDK is importable by itself: its few files, numpy, and a Python from 3.8 on."""

from __future__ import annotations

import ast
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.protocol import frames

PARTS = ("__init__.py", "protocol/__init__.py", "protocol/frames.py", "sdk")

PLAYER = """
import sys
from evaluation.sdk import serve_model
assert __import__("evaluation").__file__.startswith(sys.argv[1]), "another evaluation was found"
foreign = {"torch", "foolbox", "docker", "rich", "evaluation.domain"} & set(sys.modules)
assert not foreign, foreign
serve_model(lambda images: images.reshape(len(images), -1).max(axis=1))
"""


@pytest.fixture
def alone(root: Path, tmp_path: Path) -> Path:
    """A directory with the SDK's files and nothing else of ours."""
    source, copy = root / "evaluation", tmp_path / "evaluation"
    for part in PARTS:
        target = copy / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source / part, target)
    return tmp_path


def test_it_works(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(alone)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind("referee.sock")
        listening.listen(1)
        listening.settimeout(30.0)
        environment = {**os.environ, "PYTHONPATH": str(alone), "GAUNTLET_SOCKET": "referee.sock"}
        player = subprocess.Popen([sys.executable, "-c", PLAYER, str(alone)], env=environment)
        try:
            connected, _ = listening.accept()
            with connected:
                assert converse(connected) == b"\x07\x00\x02\x00"
            assert player.wait(timeout=30) == 0
        finally:
            player.kill()
            player.wait()


def converse(connected: socket.socket) -> bytes:
    """HELLO, WELCOME, one PREDICT of two images of one pixel, BYE; the payload of LABELS."""
    connected.settimeout(30.0)
    assert frames.HEADER.unpack_from(connected.recv(64)) == (8, frames.HELLO, 0, 0)
    welcome = frames.WELCOME_PAYLOAD.pack(1, frames.ROLE_MODEL, 1, 1, 3, 200, 64, 0, 0)
    connected.sendall(frames.HEADER.pack(len(welcome), frames.WELCOME, 0, 0) + welcome)
    connected.sendall(frames.HEADER.pack(6, frames.PREDICT, 2, 1) + bytes([1, 7, 3, 0, 2, 1]))
    reply = connected.recv(64)
    connected.sendall(frames.HEADER.pack(0, frames.BYE, 0, 0))
    assert frames.HEADER.unpack_from(reply) == (4, frames.LABELS, 2, 1)
    return reply[frames.HEADER.size :]


def test_its_files_are_python_3_8(alone: Path) -> None:
    files = sorted((alone / "evaluation").rglob("*.py"))
    assert len(files) >= 9
    for file in files:
        ast.parse(file.read_text(), filename=file.name, feature_version=(3, 8))


def test_it_is_a_few_hundred_lines(alone: Path) -> None:
    assert sum(len(file.read_text().splitlines()) for file in (alone / "evaluation").rglob("*.py")) < 900
