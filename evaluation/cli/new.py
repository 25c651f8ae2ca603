"""`gauntlet new`: a first submission to start from, copied from a bundled one."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from evaluation.baselines.catalogue import Baseline, baselines
from evaluation.builder.manifest import MANIFEST_NAME, MAX_TITLE_CHARACTERS, parse_manifest
from evaluation.cli.output import say
from evaluation.domain.errors import ManifestRefusal, Refusal
from evaluation.domain.players import Side
from evaluation.domain.tags import SUBMISSION_PREFIX, next_tag

_STARTS = {
    "model": "numpy-classifier",
    "attack": "gaussian-noise",
    "untargeted": "gaussian-noise",
    "targeted": "targeted-interpolation",
}
_GIT = ".git"


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("new", help="start a submission of your own")
    command.add_argument(
        "track", choices=tuple(_STARTS), help="its track; attack: an untargeted one, or that of --like"
    )
    command.add_argument(
        "directory", type=Path, metavar="DIR", help="a new or empty directory, or a clone that holds nothing yet"
    )
    names = ", ".join(baseline.name for baseline in baselines())
    command.add_argument("--like", metavar="NAME", help=f"which bundled submission to copy, one of: {names}")
    command.add_argument("--title", help="what boards call it (default: the directory's name)")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    source = _source(given.track, given.like or _STARTS[given.track])
    _require_empty(given.directory)
    title = _title_from(given.directory) if given.title is None else given.title
    manifest = _titled(source.path / MANIFEST_NAME, title)
    shutil.copytree(source.path, given.directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (given.directory / MANIFEST_NAME).write_text(manifest, "utf-8")
    readme = given.directory / "README.md"
    readme.write_text(re.sub(r"\A# .*", lambda _: f"# {title.strip()}", readme.read_text("utf-8")), "utf-8")
    say(
        f'A copy of {source.name}, titled "{title.strip()}", is in {given.directory.resolve()}. Change main.py, then:\n'
    )
    say("\n".join(f"  {command}" for command in _next_commands(given.directory)))
    return 0


def _source(wanted: str, name: str) -> Baseline:
    found = {baseline.name: baseline for baseline in baselines()}
    if name not in found:
        raise Refusal(f"no bundled submission is called {name}", fix="`gauntlet baselines` lists them")
    track = found[name].track
    fits = track.side is Side.ATTACK if wanted == "attack" else track == wanted
    if not fits:
        raise Refusal(f"{name} is of the {track} track", fix=f"name one of the {wanted} track, or: new {track}")
    return found[name]


def _require_empty(directory: Path) -> None:
    """Raises `Refusal` where something lies in the way; the `.git` of a fresh clone does not."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise Refusal(f"{directory} is no directory", fix="name a new one")
    held = sorted(path.name for path in directory.iterdir() if path.name != _GIT)
    if MANIFEST_NAME in held:
        raise Refusal(f"{directory} holds a submission already ({MANIFEST_NAME})", fix="change that one")
    if held:
        raise Refusal(f"{directory} is not empty: it holds {held[0]}", fix="name a new directory, or an empty clone")


def _title_from(directory: Path) -> str:
    """The directory's name as a title: `my-first_model` becomes "My first model"."""
    name = "".join(c if c.isprintable() else " " for c in directory.resolve().name)
    words = " ".join(re.split(r"[-_\s]+", name)).strip() or "My submission"
    return (words[0].upper() + words[1:])[:MAX_TITLE_CHARACTERS]


def _titled(manifest: Path, title: str) -> str:
    """The text of a bundled manifest with another title. Raises `Refusal` where no submission may have that title."""
    value = json.dumps(title, ensure_ascii=False)  # a basic string of TOML is written like one of JSON
    text = re.sub(r"(?m)^title = .*$", lambda _: f"title = {value}", manifest.read_text("utf-8"))
    try:
        parse_manifest(text.encode())
    except ManifestRefusal as refusal:
        raise Refusal(refusal.problem.partition(": ")[2], fix="give another --title") from None
    return text


def _next_commands(directory: Path) -> list[str]:
    """What to type next, from here to the submission."""
    here = directory.resolve() == Path.cwd()
    cloned = (directory / _GIT).exists()
    tag = next_tag(_tags_of(directory) if cloned else ())
    return [
        *([] if here else [f"cd {shlex.quote(str(directory))}"]),
        f"{_this_program()} check .",
        *([] if cloned else ["git init", "git remote add origin ADDRESS   # your team's page shows the address"]),
        "git add --all",
        'git commit --message "First submission"',
        f"git tag {tag}",
        f"git push origin HEAD {tag}",
    ]


def _tags_of(directory: Path) -> list[str]:
    command = ["git", "-C", str(directory), "tag", "--list", f"{SUBMISSION_PREFIX}*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):  # no git here, or no repository: there is no tag to keep clear of
        return []


def _this_program() -> str:
    """How this very program is called from any directory."""
    if shutil.which("gauntlet"):
        return "gauntlet"
    called = Path(sys.argv[0])
    if called.name == "gauntlet" and called.is_file():
        return shlex.quote(str(called.absolute()))
    return f"{shlex.quote(sys.executable)} -m evaluation"
