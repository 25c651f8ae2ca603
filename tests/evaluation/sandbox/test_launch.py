"""The script that becomes the player's command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from evaluation.sandbox import launch

KEYRING = """
import ctypes, json, os, subprocess, sys

NUMBERS = {"x86_64": (248, 250), "aarch64": (217, 219)}
add_key, keyctl = NUMBERS[os.uname().machine]
call = ctypes.CDLL(None).syscall
call(keyctl, 1, None)  # a session keyring of its own, as a service has
left = call(add_key, b"user", b"note", b"secret", 6, -3) != -1
look = "import ctypes; print(ctypes.CDLL(None).syscall(%d, 10, -3, b'user', b'note', 0) != -1)" % keyctl
child = [sys.executable, "-c", look]
launched = [sys.executable, "-I", "-S", sys.argv[1], str(os.getpid()), str(1 << 30), str(1 << 20), *child]
found = [subprocess.run(command, capture_output=True, text=True).stdout.strip() for command in (child, launched)]
print(json.dumps([left, *found]))
"""


def test_a_player_does_not_find_what_another_left_in_the_keyring_of_the_worker() -> None:
    command = [sys.executable, "-c", KEYRING, str(Path(launch.__file__))]
    left, child, player = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert child == str(left)  # False where the kernel, or the container around this test, has no keyrings
    assert player == "False"
