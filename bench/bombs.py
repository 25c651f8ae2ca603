"""Small files that were made to cost much, pushed to a running site: what each costs until it is refused or read."""

from __future__ import annotations

import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image as Picture

from bench.bomb_commits import (
    Bomb,
    Objects,
    attributes,
    copies,
    empty_folders,
    honest,
    jpeg_attack,
    key_of_many_parts,
    links,
    long_strings,
    parentheses,
)
from bench.interleaved import say
from bench.programs import BENCH
from bench.pushes import COMPETITION, create_site, free_port
from bench.report import Section, table
from bench.sizes import sized
from demo.git_push import write_copy
from demo.supervisor import SiteSupervisor
from demo.web_client import WebClient
from evaluation.formats.transfer.runner.attack_output_reader import read_all
from evaluation.legacy.environment import VARIABLE

LARGE_MEBIBYTES = sized(256, smallest=1)
SEGMENTS = sized(16_000_000, smallest=10_000)
BUDGET = sized(60, smallest=20)
"""The push budget of the last row, in seconds."""
REPEATED, MOST_PUSHES = sized(long_strings, smallest=parentheses), sized(1000, smallest=2)
PUSHED = sized(slice(None), smallest=slice(3, 4))
"""Which of the bombs are pushed."""
RESTARTED = sized(True, smallest=False)
"""Whether the site is started again before the last rows, so that the push budget holds."""

IMAGES = 4
LIKE = "numpy-classifier"
END_SECONDS = 900
_FINAL = ("ready", "rejected", "withdrawn")
_BLOCK_BYTES = 4096


class Sent(NamedTuple):
    """One push: how long the answer took, git's output, and the bytes of the objects that were sent at most."""

    seconds: float
    output: str
    bytes: int


def measure() -> Section:
    """Push each bomb to a site of two competitions, restart it, and push one of them until the budget is used."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        site = _Site(Path(folder))
        with site.running():
            site.enter()
            rows = [site.row(*bomb) for bomb in _BOMBS[PUSHED]]
            os.environ["GAUNTLET_TEAM_PUSH_SECONDS"] = str(BUDGET)
            if RESTARTED:
                site.start()
            rows.append(
                site.idle("the site is started again, with all of the above", seconds=sized(20.0, smallest=1.0))
            )
            rows.append(site.repeated(f"the 7 Python files again and again, with a push budget of {BUDGET} s"))
    header = ["what is pushed", "size", "answer after", "processor time of the site", "most disk", "outcome"]
    return Section("Small files that cost much", [*table(header, rows), "", *_image_table()])


_BOMBS: list[tuple[str, str, Bomb, bool]] = [
    (f"9,990 names of one file of {LARGE_MEBIBYTES} MiB", "model", copies(LARGE_MEBIBYTES), False),
    ("7 Python files of one long f-string, for the legacy environment", "model", long_strings, False),
    ("9,990 links, 240 folders deep", "model", links, False),
    ("a requirement with 5,000 parentheses", "model", parentheses, False),
    ("8,000 nested folders without a file", "model", empty_folders, False),
    ("a manifest with a key of 8,000 parts", "model", key_of_many_parts, False),
    ("attributes that make files four times as large", "model", attributes, True),
    (f"an attack that writes 4 JPEG files of {SEGMENTS:,} empty segments", "attack", jpeg_attack(SEGMENTS), True),
]
"""Name, track, and commit of each; and whether it is accepted, so that its build and smoke test are measured, too."""


class _Site:
    """A site with one team in a competition of each format."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._state = folder, folder / "state"
        self._pushes = 0
        self._addresses: dict[str, str] = {}
        self._url = ""
        os.environ |= {"GAUNTLET_STATE": str(self._state), "GAUNTLET_SANDBOX": "process", "DATABASE_URL": ""}
        os.environ[VARIABLE] = sys.prefix
        create_site(COMPETITION, BENCH / "bombs.toml")
        write_copy(folder / "honest", LIKE, ())

    @contextmanager
    def running(self) -> Iterator[None]:
        self._supervisor = SiteSupervisor(port=free_port(), processes=1, logs=self._state / "logs")
        self._url = self._supervisor.url
        try:
            self.start()
            yield
        finally:
            self._supervisor.stop()

    def start(self) -> None:
        """Start it, as the environment says now; end what runs of it before."""
        self._supervisor.stop()
        sized(self._supervisor.start, smallest=self._supervisor.start_web)()  # the smallest size builds nothing

    def enter(self) -> None:
        """Make the two teams."""
        for competition, track in (("small", "model"), ("images", "attack")):
            web_client = WebClient(self._url)
            web_client.register(f"of-{track}", f"a long enough password {track}")
            web_client.make_team(competition, f"team-{track}", f"Team {track}")
            self._addresses[track] = f"of-{track}:{web_client.make_token('git')}@"

    def row(self, name: str, track: str, bomb: Bomb, accepted: bool) -> list[str]:
        """Push a bomb; return its row. An accepted one is followed until its build and smoke test have ended."""
        used = self._processor_seconds()
        with self._watched_disk() as disk:
            sent = self._push(track, bomb)
            outcome = self._end_of(sent.output) if accepted else _problem(sent.output)
        seconds = self._processor_seconds() - used
        say(f"bombs: {name}: {outcome}")
        return [name, _size(sent.bytes), f"{sent.seconds:.1f} s", f"{seconds:.1f} s", _size(disk[0]), outcome]

    def idle(self, name: str, seconds: float) -> list[str]:
        """Return the row of a site to which nothing is pushed."""
        used = self._processor_seconds()
        with self._watched_disk() as disk:
            time.sleep(seconds)
        return [name, "", "", f"{self._processor_seconds() - used:.1f} s", _size(disk[0]), f"idle for {seconds:.0f} s"]

    def repeated(self, name: str) -> list[str]:
        """Push a bomb until the push budget is used; return the row of all these pushes."""
        used = self._processor_seconds()
        size = pushes = 0
        answers = 0.0
        output = ""
        with self._watched_disk() as disk:
            while "push budget" not in output and pushes < MOST_PUSHES:
                sent = self._push("model", REPEATED)
                pushes, size, answers, output = pushes + 1, size + sent.bytes, answers + sent.seconds, sent.output
        seconds = f"{self._processor_seconds() - used:.1f} s"
        return [name, _size(size), f"{answers:.1f} s", seconds, _size(disk[0]), f"push {pushes}: {_problem(output)}"]

    def _push(self, track: str, bomb: Bomb) -> Sent:
        self._pushes += 1
        folder = self._folder / f"push-{self._pushes}"
        objects = Objects(folder)
        commit = bomb(objects, honest(objects, self._folder / "honest"))
        address = self._url.replace("://", f"://{self._addresses[track]}") + f"/git/team-{track}/{track}.git"
        command = ["git", "push", address, f"{commit}:refs/tags/submission-{self._pushes}"]
        begun = time.monotonic()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return Sent(time.monotonic() - begun, done.stderr, objects.size())

    def _end_of(self, output: str) -> str:
        """Wait for the end of the submission that git's output names; return its state and problem."""
        found = re.search(r"Submission (\d+) received", output)
        if found is None:
            raise RuntimeError(f"a push was not accepted: {output}")
        until = time.monotonic() + END_SECONDS
        query = "SELECT state, cause, problem FROM submissions_submission WHERE id = ?"
        with sqlite3.connect(f"file:{next(self._state.glob('*.sqlite3'))}?mode=ro", uri=True) as database:
            while True:
                state, cause, problem = database.execute(query, (found[1],)).fetchone()
                if state in _FINAL:
                    return f"accepted, then {state}" + (f" ({cause}): {problem}" if problem else "")
                if time.monotonic() > until:
                    raise RuntimeError(f"submission {found[1]} is {state} after {END_SECONDS} s")
                time.sleep(0.2)

    def _processor_seconds(self) -> float:
        """Return the processor time of all processes of the site, and of the children that they waited for."""
        mark, ticks = f"GAUNTLET_STATE={self._state}".encode(), 0
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if int(process.name) != os.getpid() and mark in (process / "environ").read_bytes().split(b"\0"):
                    fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
                    ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    @contextmanager
    def _watched_disk(self) -> Iterator[list[int]]:
        """Yield a list with the most bytes that the state folder grew by, filled until the end of the block."""
        before, most, end = self._disk(), [0], threading.Event()

        def watch() -> None:
            while not end.wait(0.1):
                most[0] = max(most[0], self._disk() - before)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield most
        finally:
            end.set()
            thread.join()

    def _disk(self) -> int:
        size = 0
        for folder, _, names in os.walk(self._state):
            for name in names:
                with suppress(OSError):
                    size += min(
                        -(-(found := os.lstat(Path(folder, name))).st_size // _BLOCK_BYTES) * _BLOCK_BYTES,
                        found.st_blocks * 512,
                    )
        return size


def _problem(output: str) -> str:
    """Return what an answer to a push says, in one line."""
    found = re.search(r"^remote: +problem: (.*?) *$", output, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"a push was not refused: {output}")
    return f"refused: {found[1]}"


def _size(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"


def _image_table() -> list[str]:
    """Let the reader of adversarial images alone read each kind of file."""
    rows = [_images(name, ending, content) for name, ending, content in _pictures()]
    return table(["what the reader of images is given", "size", "processor time", "outcome"], rows)


def _pictures() -> list[tuple[str, str, bytes]]:
    clean = Picture.fromarray(_clean())
    png, jpeg, large = BytesIO(), BytesIO(), BytesIO()
    clean.save(png, "PNG")
    clean.save(jpeg, "JPEG")
    Picture.new("RGB", (2048, 2048)).save(large, "JPEG", progressive=True)
    plain, scans = jpeg.getvalue(), large.getvalue()
    last = scans.rindex(b"\xff\xda")
    return [
        ("PNG files as usual", "png", png.getvalue()),
        ("JPEG files of empty segments", "jpg", plain[:2] + b"\xff\xe5\0\x02" * SEGMENTS + plain[2:]),
        ("the same", "jpg", plain[:2] + b"\xff\xe5\0\x02" * (SEGMENTS // 40) + plain[2:]),
        ("JPEG files of fill bytes", "jpg", plain[:2] + b"\xff" * (SEGMENTS // 10) + plain[2:]),
        ("JPEG files of 2,048 x 2,048 pixels, 30 scans", "jpg", scans[:-2] + scans[last:-2] * 20 + scans[-2:]),
    ]


def _images(name: str, ending: str, content: bytes) -> list[str]:
    names = [f"image{number}" for number in range(IMAGES)]
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        for each in names:
            (Path(folder) / f"{each}.{ending}").write_bytes(content)

        def check() -> str:
            images, _ = read_all(Path(folder), names, np.stack([_clean()] * IMAGES), 16)
            return "no image" if images[0] is None else "read"

        return _measured(f"{IMAGES} {name}", f"{IMAGES * len(content) >> 10:,} KiB", check)


def _clean() -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.random.default_rng(1).integers(0, 256, (299, 299, 3), np.uint8)


def _measured(name: str, size: str, check: Callable[[], str]) -> list[str]:
    before = _processor_seconds()
    outcome = check()
    return [name, size, f"{_processor_seconds() - before:.2f} s", outcome]


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
