"""Writes the locks: for each set of packages, the pinned versions with the SHA-256 of every file that PyPI has of them.

`make lock` calls it. The versions are those of constraints.txt; other packages keep the versions that the locks have,
where these still fit. `deploy/install` installs from the locks.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "deploy/locks"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMMAND = PYPROJECT["project"]["dependencies"]
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
OWN = "gauntlet-arena"

TOOLS = ["uv", "cyclonedx-bom", "pip-audit"]
"""What makes locks and releases; a server needs none of them."""

CPU_BUILD = {
    "torch==2.13.0": [  # of CPython 3.11 on x86_64 and aarch64, in this order
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
        "84453b69508ec79902f899c5ed9495acb9e2bbe9fda5f1d5d6f19e3c3842e1a7",
    ]
}
"""The files of PyTorch without CUDA, which PyPI does not have: those of https://download.pytorch.org/whl/cpu/torch/."""

BLOCK = re.compile(r"^(?P<name>[^\s=#]+)==(?P<version>\S+).*(?:\n +--hash=\S+.*)+\n", re.MULTILINE)
"""A package with its hashes, as uv writes it."""


def locked(needed: list[str], constraints: str, before: str) -> str:
    """Return the packages that `needed` needs on any system, with hashes.

    They have the versions of `constraints`, the others those of the lock `before` if they fit.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted, pins, lock = (Path(folder, name) for name in ("wanted.in", "pins.txt", "lock.txt"))
        wanted.write_text("\n".join(needed), encoding="utf-8")
        pins.write_text(constraints, encoding="utf-8")
        kept = (f"{block['name']}=={block['version']}\n" for block in BLOCK.finditer(before))
        lock.write_text("".join(kept), encoding="utf-8")  # without the hashes, which uv would keep
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--system-certs", "--universal"]
        command += ["--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate"]
        subprocess.run([*command, "--constraints", pins, "--output-file", lock, wanted], check=True)
        return lock.read_text(encoding="utf-8")


def blocks_of(lock: str) -> dict[str, re.Match[str]]:
    """Return the packages of a lock by name."""
    return {block["name"]: block for block in BLOCK.finditer(lock)}


def text_of(blocks: Iterable[re.Match[str]]) -> str:
    """Return the lock of some packages."""
    return "".join(block[0] for block in blocks)


def cpu_build(torch: str) -> str:
    """Return the lock of PyTorch's CPU build of a version, "torch==2.13.0". Exit if its hashes are not known."""
    if torch not in CPU_BUILD:
        raise SystemExit(
            f"make lock: write the SHA-256 of the CPU build of {torch} into CPU_BUILD of deploy/lock.py. The index "
            "https://download.pytorch.org/whl/cpu/torch/ has them."
        )
    return f"{torch}+cpu" + "".join(f" \\\n    --hash=sha256:{each}" for each in CPU_BUILD[torch]) + "\n"


def read(name: str) -> str:
    """Return a lock as it is, empty where there is none."""
    file = LOCKS / f"{name}.txt"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def write(name: str, title: str, content: str) -> None:
    """Write a lock."""
    (LOCKS / f"{name}.txt").write_text(f"# {title} Made by `make lock`.\n{content}", encoding="utf-8")


def main() -> None:
    """Write all locks."""
    LOCKS.mkdir(exist_ok=True)
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = {canonicalize_name(name) for name in re.findall(r"^([^\s=#]+)==", constraints, re.MULTILINE)}
    site = [each for each in COMMAND + EXTRAS["builds"] + EXTRAS["site"] if not each.startswith(OWN)]

    for name, title, needed in (
        ("build", "What builds the wheels of this project.", PYPROJECT["build-system"]["requires"]),
        ("command", "What the command `gauntlet` needs, for participants.", COMMAND),
    ):
        write(name, title, locked(needed, constraints, read(name)))

    blocks = blocks_of(locked(site, constraints, read("site") + read("psycopg2-binary")))
    binary = blocks.pop("psycopg2-binary")
    write("site", "What a site needs, without psycopg2 and the packages of players.", text_of(blocks.values()))
    write("psycopg2-binary", "psycopg2 with a libpq of its own.", text_of([binary]))
    source = locked([f"psycopg2=={binary['version']}"], constraints, read("psycopg2"))
    write("psycopg2", "psycopg2 for the libpq of the system.", source)
    compiler = locked(["setuptools"], constraints, read("psycopg2-build"))
    write("psycopg2-build", "What compiles psycopg2.", compiler)

    # their versions are among those of the tests: `make setup` does not install them
    pins = constraints + (ROOT / "constraints-dev.txt").read_text(encoding="utf-8")
    write("traces", "What a site needs to send traces.", locked(EXTRAS["traces"], pins, read("traces")))

    blocks = blocks_of(locked(EXTRAS["players"], constraints, read("players") + read("pytorch")))
    ours = {name for name in blocks if name in pinned and name != "torch"}
    rest, cuda = (text_of(blocks[name] for name in blocks if (name in ours) is own) for own in (True, False))
    write("players", "What bundled players need beside PyTorch.", rest)
    write("pytorch", "PyTorch of PyPI, with the CUDA packages that it needs on Linux.", cuda)
    write("pytorch-cpu", "PyTorch without CUDA.", cpu_build(f"torch=={blocks['torch']['version']}"))

    write("release", "What makes locks and releases, beside build.txt.", locked(TOOLS, constraints, read("release")))


if __name__ == "__main__":
    main()
