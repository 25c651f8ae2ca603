"""Commits that are small to send and were made to cost much, written into a repository object by object."""

from __future__ import annotations

import hashlib
import json
import subprocess
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

NAMES = 9_990
LINKS = 9_990
LINK_FOLDERS = 240
EMPTY_FOLDERS = 8_000
PARENTHESES = 5_000
KEY_PARTS = 8_000
PROGRAM_FILES = 7

_BLOCK = 1 << 20
_FILE, _PROGRAM, _LINK, _FOLDER = "100644", "100755", "120000", "40000"
_WHO = "Bench <bench@example.org> 1767268800 +0000"


class Entry(NamedTuple):
    """An entry of a folder: its mode, as git writes it, and the name of its object."""

    mode: str
    name: str


class Objects:
    """Writes loose objects into the repository at `folder`."""

    def __init__(self, folder: Path) -> None:
        self._objects = folder / ".git" / "objects"
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(folder)], check=True)

    def file(self, content: bytes, *, times: int = 1, mode: str = _FILE) -> Entry:
        """Write a file of `content`, repeated."""
        return Entry(mode, self._written("blob", content, times))

    def link(self, target: str) -> Entry:
        """Write a symbolic link."""
        return self.file(target.encode(), mode=_LINK)

    def folder(self, entries: Mapping[str, Entry]) -> Entry:
        """Write a folder."""
        in_order = sorted(entries.items(), key=lambda each: each[0] + "/" * (each[1].mode == _FOLDER))
        content = b"".join(f"{entry.mode} {name}\0".encode() + bytes.fromhex(entry.name) for name, entry in in_order)
        return Entry(_FOLDER, self._written("tree", content))

    def nested(self, entry: Entry, depth: int) -> Entry:
        """Write `depth` folders in each other, with `entry` in the last one."""
        for _ in range(depth):
            entry = self.folder({"d": entry})
        return entry

    def commit(self, entries: Mapping[str, Entry]) -> str:
        """Write a commit of these entries; return its name."""
        text = f"tree {self.folder(entries).name}\nauthor {_WHO}\ncommitter {_WHO}\n\nSmall\n"
        return self._written("commit", text.encode())

    def size(self) -> int:
        """Return the bytes of all objects, compressed."""
        return sum(path.stat().st_size for path in self._objects.rglob("*") if path.is_file())

    def _written(self, kind: str, content: bytes, times: int = 1) -> str:
        digest, packer = hashlib.sha1(usedforsecurity=False), zlib.compressobj(1)
        packed = bytearray()
        for part in (f"{kind} {len(content) * times}\0".encode(), *([content] * times)):
            digest.update(part)
            packed += packer.compress(part)
        packed += packer.flush()
        name = digest.hexdigest()
        path = self._objects / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(packed)
        return name


Files = Mapping[str, Entry]
"""The entries at the top of an honest submission, to which a bomb adds its own."""

Bomb = Callable[[Objects, Files], str]
"""Writes a commit and returns its name."""


def honest(objects: Objects, folder: Path) -> Files:
    """Write the submission in `folder`, which has no folders of its own but one level."""

    def written(path: Path) -> Entry:
        if path.is_dir():
            return objects.folder({each.name: written(each) for each in path.iterdir() if each.name != ".git"})
        return objects.file(path.read_bytes(), mode=_PROGRAM if path.stat().st_mode & 0o100 else _FILE)

    return {path.name: written(path) for path in folder.iterdir() if path.name != ".git"}


def copies(mebibytes: int) -> Bomb:
    """One large file under many names: checked out, it has terabytes."""

    def write(objects: Objects, files: Files) -> str:
        large = objects.file(b"\1" * _BLOCK, times=mebibytes)
        return objects.commit({**files, "weights": objects.folder({f"z{n}.bin": large for n in range(NAMES)})})

    return write


def links(objects: Objects, files: Files) -> str:
    """Write many links far down, each through many names that are not there."""
    link = objects.link("/".join(["x"] * 250))
    folder = objects.folder({f"l{number}": link for number in range(LINKS)})
    return objects.commit({**files, "d": objects.nested(folder, LINK_FOLDERS - 1)})


def empty_folders(objects: Objects, files: Files) -> str:
    """Write folders in each other without any file; some commands of git die of them."""
    return objects.commit({**files, "d": objects.nested(objects.folder({}), EMPTY_FOLDERS)})


def parentheses(objects: Objects, files: Files) -> str:
    """Write a requirement that its parser reads by recursion."""
    return objects.commit({**files, "requirements.txt": objects.file(b"numpy; " + b"(" * PARENTHESES + b"\n")})


def key_of_many_parts(objects: Objects, files: Files) -> str:
    """Write a manifest with a key whose parts TOML's parser visits again for each further one."""
    return objects.commit({**files, "submission.toml": objects.file(b"a." * KEY_PARTS + b"a = 1\n")})


def long_strings(objects: Objects, files: Files) -> str:
    """Write a program of 2018 whose files Python's parser reads for minutes."""
    manifest = objects.file(b'{"challenge_id": "nips-2018-avc-robust-model-track", "description": "Long strings"}')
    start = objects.file(b"#!/bin/sh\npython main.py\n", mode=_PROGRAM)
    part = objects.file(b'f"' + b"{x}" * 87_000 + b'"')
    main = objects.file("".join(f"import part{number}\n" for number in range(PROGRAM_FILES)).encode())
    parts = {f"part{number}.py": part for number in range(PROGRAM_FILES)}
    return objects.commit({"crowdai.json": manifest, "run.sh": start, "main.py": main, **parts})


def attributes(objects: Objects, files: Files) -> str:
    """Write attributes with which git would check out other bytes than were committed, and four times as many."""
    text = b"* text working-tree-encoding=UTF-32 eol=crlf ident\n"
    return objects.commit({**files, ".gitattributes": objects.file(text)})


def jpeg_attack(segments: int) -> Bomb:
    """An attack of the transfer format that writes JPEG files of empty segments, which a reader keeps in memory."""
    script = f"""#!/bin/sh
exec python3 - "$@" <<'END'
import sys
from io import BytesIO
from pathlib import Path
from PIL import Image
source, target, epsilon = sys.argv[1:]
for file in sorted(Path(source).glob("*.png"))[:4]:
    content = BytesIO()
    Image.open(file).save(content, "JPEG")
    plain = content.getvalue()
    (Path(target) / f"{{file.stem}}.jpg").write_bytes(plain[:2] + bytes.fromhex("ffe50002") * {segments} + plain[2:])
END
"""
    manifest = {
        "type": "attack",
        "container": "gauntlet-base",
        "entry_point": "run.sh",
        "title": "Segments",
        "licence": "MIT",
    }

    def write(objects: Objects, _: Files) -> str:
        return objects.commit(
            {
                "metadata.json": objects.file(json.dumps(manifest).encode()),
                "run.sh": objects.file(script.encode(), mode=_PROGRAM),
            }
        )

    return write
