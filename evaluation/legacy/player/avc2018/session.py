"""The program's end of the connection to its supervisor: one for each process, made when it is first needed."""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import threading
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from avc2018 import messages

CLASSES = 200
"""The classes of 2018, of which programs make vectors whatever the competition has."""

Entry = Tuple[str, np.ndarray, int]


class QueriesUsedUp(Exception):
    """No query is left for the current sample."""


class SampleList(List[Entry]):
    """The samples. It tells the supervisor which of them the program's loop is at: a query of 2018 never said."""

    def __init__(self, entries: List[Entry], owner: ProgramSession) -> None:
        super().__init__(entries)
        self._owner = owner

    def __iter__(self) -> Iterator[Entry]:
        self._owner.notify(messages.PASSED)
        for entry in super().__iter__():
            self._owner.take(entry)
            yield entry
        self._owner.notify(messages.PASSED)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(found, tuple):
            self._owner.take(found)
        return found

    def __reduce__(self) -> Tuple[Any, ...]:
        return list, (list(super().__iter__()),)


class ProgramSession:
    """What the supervisor said of the match, and requests to it. Threads take turns."""

    def __init__(self) -> None:
        path = os.environ.get(messages.SOCKET_VARIABLE)
        if not path:
            raise SystemExit(
                "queries and read_images are for attacks, and this program was not started as one: its crowdai.json "
                "names the model track, or it was started by hand and not by `gauntlet play` or `gauntlet check`"
            )
        self._lock = threading.Lock()
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection.connect(path)
        _, content = self._request(messages.IMAGES)
        said: Dict[str, Any] = json.loads(content.decode())
        self.shape: Tuple[int, ...] = tuple(said["shape"])
        self.classes: int = said["classes"]
        self.seed: int = said["seed"]
        self._samples: List[Tuple[int, str, int]] = [tuple(sample) for sample in said["samples"]]
        self._numbers = {name: number for number, name, _ in self._samples}

    def images(self) -> SampleList:
        """Return the samples, and seed the generators that programs draw from, so that a piece repeats."""
        random.seed(self.seed)
        np.random.seed(self.seed & 0xFFFFFFFF)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(self.seed & 0x7FFFFFFF)
        folder = os.environ["INPUT_IMG_PATH"]
        entries = [
            (name, np.load(os.path.join(folder, name)).astype(np.float32), label) for _, name, label in self._samples
        ]
        return SampleList(entries, self)

    def take(self, entry: Entry) -> None:
        """Say that the program's loop took this sample, wherever the list has it after a shuffle."""
        number = self._numbers.get(entry[0])
        if number is not None:
            self.notify(messages.TAKEN, number)

    def notify(self, kind: int, number: int = 0) -> None:
        """Send a message that gets no reply, unless this process is a fork: it has a session of its own."""
        if session() is not self:
            session().notify(kind, number)
            return
        with self._lock:
            messages.send_request(self._connection, kind, number)

    def ask(self, image: np.ndarray) -> int:
        """Return the label of `image`. Raise QueriesUsedUp."""
        label, _ = self._request(messages.QUERY, content=image.tobytes())
        if label == messages.USED_UP:
            raise QueriesUsedUp("the queries of this sample are used up")
        return label

    def store(self, name: str, image: Optional[np.ndarray]) -> None:
        """Hand in the answer for the sample `name`."""
        number = self._numbers.get(name, self._numbers.get(os.path.splitext(name)[0] + ".npy"))
        if number is None:
            print("store_adversarial: no image of this piece is called {!r}; ignored".format(name), file=sys.stderr)
            return
        self._request(messages.STORE, number, b"" if image is None else image.tobytes())

    def complete(self) -> None:
        """Say that the attack is done."""
        self._request(messages.COMPLETE)

    def _request(self, kind: int, number: int = 0, content: bytes = b"") -> Tuple[int, bytes]:
        with self._lock:
            try:
                messages.send_request(self._connection, kind, number, content)
                return messages.read_reply(self._connection)
            except (messages.Closed, BrokenPipeError, ConnectionResetError):
                raise SystemExit("the supervisor has ended this attack") from None


_sessions: Dict[int, ProgramSession] = {}
_making = threading.RLock()


def session() -> ProgramSession:
    """Return the session of this process; a forked process makes its own."""
    with _making:
        process = os.getpid()
        if process not in _sessions:
            _sessions[process] = ProgramSession()
        return _sessions[process]


def image_shape() -> Tuple[int, ...]:
    """Return the shape of the competition's images; that of 2018 in a model, which is not told."""
    return session().shape if os.environ.get(messages.SOCKET_VARIABLE) else (64, 64, 3)
