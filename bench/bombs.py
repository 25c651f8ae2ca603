"""Small files that were made to cost much: processor time and size until each is refused or read."""

from __future__ import annotations

import ast
import resource
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image as Picture

from bench.report import Section, table
from bench.sizes import sized
from core.errors import Refusal
from evaluation.parsing.limited_process import Fields, ask_once
from evaluation.transfer.adversarial_images import read_all
from repositories.file_rules import Limits, check_files
from repositories.git_reader import TreeFile

LIMITS = Limits(file_bytes=256 << 20, files=10_000, total_bytes=2 << 30)
SEGMENTS = sized(16_000_000, smallest=10_000)
PROGRAM_SECONDS = sized(10, smallest=1)
PROGRAM_BYTES = 2 << 30
"""The limits of a plan of 2018."""
IMAGES = 4


def measure() -> Section:
    """Let the checks of a push, and the reader of adversarial images, meet each file."""
    rows = [_tree("9,990 names of one file of 256 MiB", _copies()), _tree("10,000 links, 240 folders deep", _links())]
    rows.append(_program())
    rows += [_images(name, ending, content) for name, ending, content in _pictures()]
    return Section("Small files that cost much", table(["what is sent", "size", "processor time", "outcome"], rows))


class _Target:
    """The content of every link."""

    def content(self, name: str, limit: int) -> bytes:
        return name.encode()[:limit]


def _copies() -> list[TreeFile]:
    return [TreeFile(f"z{number}.bin", "100644", 256 << 20, "0" * 40) for number in range(9990)]


def _links() -> list[TreeFile]:
    target = "/".join(["x"] * 250)
    return [TreeFile("d/" * 240 + f"l{number}", "120000", len(target), target) for number in range(10_000)]


def _tree(name: str, files: list[TreeFile]) -> list[str]:
    def check() -> str:
        try:
            check_files(files, _Target(), LIMITS)
        except Refusal:
            return "refused"
        return "accepted"

    return _measured(name, "", check)


def _program() -> list[str]:
    source = b'f"' + b"{x}" * 87_000 + b'"'
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        for number in range(7):
            (Path(folder) / f"part{number}.py").write_bytes(source)

        def check() -> str:
            try:
                ask_once(
                    f"{__name__}:parse",
                    {"folder": folder},
                    what="the program",
                    seconds=PROGRAM_SECONDS,
                    memory_bytes=PROGRAM_BYTES,
                )
            except Refusal:
                return "refused"
            return "read"

        return _measured("7 Python files of one long f-string", f"{7 * len(source) >> 10:,} KiB", check)


def parse(fields: Fields, _: bytes) -> tuple[Fields, bytes]:
    """Parse every Python file of a folder, in a process with limits."""
    for path in sorted(Path(fields["folder"]).glob("*.py")):
        ast.parse(path.read_text())
    return {}, b""


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
