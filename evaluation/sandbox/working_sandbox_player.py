"""Control player: answers one question of its host and ends. Standard library only.

python3 -c "$(cat working_sandbox_player.py)" MODULE...

It does what every player needs: it imports MODULEs, writes and reads a file, connects to its socket, and answers.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import socket
import sys

_QUESTION_BYTES = 32
_FILE_BYTES = 1 << 16


def main() -> None:
    for module in sys.argv[1:]:
        importlib.import_module(module)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ["GAUNTLET_SOCKET"])
        question = connection.recv(_QUESTION_BYTES, socket.MSG_WAITALL)
        name = os.environ["HOME"] + "/control"
        with open(name, "wb") as file:  # noqa: PTH123 - runs in any Python of an image
            file.write(question * (_FILE_BYTES // _QUESTION_BYTES))
        with open(name, "rb") as file:  # noqa: PTH123
            connection.sendall(hashlib.sha256(file.read()).digest())


if __name__ == "__main__":
    main()
