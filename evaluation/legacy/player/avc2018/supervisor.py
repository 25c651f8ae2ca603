"""Supervisor of an attack of 2018: it holds the one connection to the referee and starts the program for each piece.

The program's queries, stored images and endings reach it on a socket of its own (`avc2018.messages`). HELLO goes out
when the program first asks for its images, so that loading its networks is set-up.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import socket
from pathlib import Path
from typing import Dict, List, Optional

import numpy as np

from avc2018 import messages
from avc2018.piece import AttackPiece
from avc2018.program import PATIENCE, ProgramRun, program_environment
from avc2018.sample_choice import SampleChoice
from gauntlet import frames
from gauntlet.connection import Connection

_POLL_SECONDS = 0.05
_MOST_BYTES = 1 << 26


class AttackSupervisor:
    """Plays pieces until the match is over."""

    def __init__(self, scratch: Path) -> None:
        """Listen below `scratch`."""
        self._scratch = scratch
        address = str(scratch / "supervisor.sock")
        self._environment = {**program_environment(scratch), messages.SOCKET_VARIABLE: address}
        self._referee_socket: Optional[socket.socket] = None
        self._referee: Optional[Connection] = None
        self._piece: Optional[AttackPiece] = None
        # of the program that runs now
        self._offered: Optional[List[int]] = None
        self._choices: Dict[socket.socket, SampleChoice] = {}
        self._in_hand: Optional[int] = None
        self._complete = False
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(address)
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ)

    def play(self) -> int:
        """Play until BYE. Return the exit status: that of a program that ended before it asked anything."""
        while True:
            status = self._play_piece()
            if status:
                return status
            assert self._referee is not None
            assert self._piece is not None
            self._next_piece(self._referee, self._piece.sequence)

    def _play_piece(self) -> int:
        """Start the program until no sample is left for it, then send FINISH. Return a status other than 0 to give up.

        A program that fails is started again with the samples that it has not come to, as long as it comes to some.
        """
        while True:
            before = None if self._piece is None else len(self._piece.untouched())
            code = self._run_program()
            if self._complete:
                return 0
            if self._piece is None:
                _say("run.sh ended with exit status {} before read_images()".format(code))
                return code or 1
            if code == 0:
                _say("run.sh ended without attack_complete(); in 2018 it would have waited for the time limit")
                break
            if self._in_hand is not None and not self._piece.samples[self._in_hand].stored:
                self._piece.samples[self._in_hand].status = frames.STATUS_RAISED
            rest = self._piece.untouched()
            _say("run.sh ended with exit status {}; {} samples are left".format(code, len(rest)))
            if not any(sample.queried for sample in self._piece.samples):
                return code
            if before == len(rest):
                for index in rest:
                    self._piece.samples[index].status = frames.STATUS_RAISED
                rest = []
            if not rest:
                break
        self._piece.finish()
        return 0

    def _run_program(self) -> int:
        """Run the program once and serve it. Return its exit status; after `attack_complete`, 0."""
        self._offered, self._in_hand, self._complete = None, None, False
        program = ProgramRun(self._environment)
        try:
            while True:
                code = program.exit_code()
                events = self._selector.select(0 if code is not None else _POLL_SECONDS)
                for key, _ in events:
                    self._handle(key.fileobj)
                    if self._complete:
                        program.end(PATIENCE)
                        return 0
                # what it sent before its end is read first
                if code is not None and not events:
                    return code if code >= 0 else 128 - code
        finally:
            program.end()
            for connection in list(self._choices):
                self._drop(connection)

    def _handle(self, ready: object) -> None:
        if ready is self._listener:
            connection, _ = self._listener.accept()
            self._choices[connection] = SampleChoice()
            self._selector.register(connection, selectors.EVENT_READ)
        elif ready is self._referee_socket:
            assert self._referee is not None
            self._referee.receive()  # ends this process if the referee has gone or rejects it
            raise SystemExit(0)
        elif isinstance(ready, socket.socket) and ready in self._choices:
            try:
                self._serve(ready)
            except (messages.Closed, BrokenPipeError, ConnectionResetError):
                self._drop(ready)
            except ValueError as error:
                _say("the program sent no valid message: {}".format(error))
                self._drop(ready)

    def _serve(self, connection: socket.socket) -> None:
        kind, number, content = messages.read_request(connection, _MOST_BYTES)
        if kind == messages.IMAGES:
            messages.send_reply(connection, content=json.dumps(self._offer()).encode())
            return
        piece, choice = self._piece, self._choices[connection]
        if piece is None or not 0 <= number < len(piece.samples):
            raise ValueError("sample {} is not in this piece".format(number))
        if kind == messages.TAKEN:
            choice.take(number)
            self._in_hand = number
        elif kind == messages.PASSED:
            choice.forget()
            self._in_hand = None
        elif kind == messages.QUERY:
            image = self._image(piece, content)
            self._in_hand = choice.sample_of(image, piece.clean)
            messages.send_reply(connection, piece.ask(self._in_hand, content))
        elif kind == messages.STORE:
            if content:
                self._image(piece, content)
            if piece.store(number, content) == messages.USED_UP:
                _say("the image stored for {} was never queried, and no query is left".format(number))
            messages.send_reply(connection)
        elif kind == messages.COMPLETE:
            self._complete = True
            piece.finish()
            messages.send_reply(connection)
        else:
            raise ValueError("a message of kind {}".format(kind))

    def _image(self, piece: AttackPiece, content: bytes) -> np.ndarray:
        if len(content) != piece.clean[0].size:
            raise ValueError("an image of {} bytes".format(len(content)))
        return np.frombuffer(content, np.uint8).reshape(piece.clean[0].shape)

    def _offer(self) -> Dict[str, object]:
        """Return what the program learns of its piece, after writing the images as 2018 had them."""
        if self._referee is None:
            self._referee = self._connect()
            self._next_piece(self._referee, 0)
        piece, welcome = self._piece, self._referee.welcome
        assert piece is not None
        if self._offered is None:
            self._offered = piece.untouched()
            self._write(piece, self._offered)
        return {
            "shape": welcome.shape,
            "classes": welcome.classes,
            "seed": piece.seed,
            "samples": [
                (index, piece.samples[index].name, piece.samples[index].given_label) for index in self._offered
            ],
        }

    def _write(self, piece: AttackPiece, offered: List[int]) -> None:
        for variable in ("INPUT_IMG_PATH", "OUTPUT_ADVERSARIAL_PATH"):
            shutil.rmtree(self._environment[variable], ignore_errors=True)
            os.mkdir(self._environment[variable])
        lines = []
        for index in offered:
            sample = piece.samples[index]
            np.save(os.path.join(self._environment["INPUT_IMG_PATH"], sample.name), sample.image)
            lines.append("{}: {}\n".format(sample.name, sample.given_label))
        Path(self._environment["INPUT_YML_PATH"]).write_text("".join(lines), encoding="utf-8")

    def _connect(self) -> Connection:
        self._referee_socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._referee_socket.connect(os.environ["GAUNTLET_SOCKET"])
        connection = Connection(frames.ROLE_ATTACK, self._referee_socket)
        self._selector.register(self._referee_socket, selectors.EVENT_READ)
        return connection

    def _next_piece(self, referee: Connection, sequence: int) -> None:
        frame = referee.receive()
        if frame.type == frames.BYE:
            raise SystemExit(0)
        self._piece = AttackPiece(referee, frame, sequence)

    def _drop(self, connection: socket.socket) -> None:
        del self._choices[connection]
        self._selector.unregister(connection)
        connection.close()


def _say(text: str) -> None:
    print("avc2018: " + text, flush=True)
