"""`gauntlet new`: creation of a first submission, as a copy of a bundled one or from a template for a framework."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evaluation.baselines.bundled import DIGITS, BundledRepository
from evaluation.baselines.templates import FRAMEWORKS
from evaluation.builder.manifest import MANIFEST_NAME, MAX_TITLE_CHARACTERS, is_competition_address
from evaluation.cli.output import say
from evaluation.domain.errors import ManifestRefusal, Refusal
from evaluation.domain.players import TrackName
from evaluation.domain.submission_tags import SUBMISSION_PREFIX, next_tag
from evaluation.formats.registry import all_bundled, find_bundled, find_template, format_called, formats
from evaluation.training.start_images import STARTS as START_IMAGES
from evaluation.training.start_images import write_starts

_FIRST = {track: first for each in formats for track, first in each.first_submissions.items()}
"""What is proposed, by track."""

_MANIFESTS = frozenset(name for each in formats for name in each.manifests)

_GIT = ".git"

_IGNORED = "__pycache__/\n.venv/\nvenv/\n"
"""What Python programs make in their directory, and submissions do not contain."""


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser("new", help="create a new submission")
    command.add_argument(
        "track",
        choices=tuple(_FIRST),
        help="; ".join(f"{each.name} format: {', '.join(each.first_submissions)}" for each in formats),
    )
    command.add_argument("directory", type=Path, metavar="DIR", help="a new or empty directory, or an empty clone")
    names = ", ".join(baseline.name for baseline in all_bundled())
    begin = command.add_mutually_exclusive_group()
    begin.add_argument(
        "--template",
        choices=tuple(FRAMEWORKS),
        help="begin with a network in this framework and a short program around it, to put your own network in",
    )
    begin.add_argument("--like", metavar="NAME", help=f"bundled submission to copy, one of: {names}")
    command.add_argument("--title", help="its name on leaderboards (default: the directory's name)")
    command.add_argument(
        "--starts", metavar="DATASET", help="start images of a targeted attack: from the training images of a data set"
    )
    command.add_argument(
        "--competition",
        metavar="URL",
        help="address of the competition whose rules `gauntlet check` plays by; written to submission.toml, or to the "
        "commands of the README where the manifest is a metadata.json",
    )
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.template:
        source: BundledRepository = find_template(given.template, given.track)
    else:
        source = _source(given.track, given.like or _FIRST[given.track].copied)
    plain = source.origin.replace("`", "")
    if given.starts and (given.template or source.track != TrackName.TARGETED):
        raise Refusal(f"{plain} takes no start images", fix="leave --starts out, or choose a targeted attack")
    with _writing(given.directory):
        _require_empty(given.directory)
    title = _title_from(given.directory) if given.title is None else given.title
    manifest = _titled(source, title)
    checking = "check ."
    if given.competition:
        _require_address(given.competition)
        if source.manifest == MANIFEST_NAME:
            manifest = f"{manifest.rstrip()}\ncompetition = {json.dumps(given.competition)}\n"
        else:  # the layout of 2017 has no place for it
            checking = f"check --competition {shlex.quote(given.competition)} ."
    commands = [checking, *_trial(source, given.directory)]
    with _writing(given.directory):
        source.assemble(given.directory)
        (given.directory / ".gitignore").write_text(_IGNORED, "utf-8")
        if given.starts:
            count = write_starts(given.directory / START_IMAGES, given.starts)
            say(f"{count} start images from {given.starts}.")
        (given.directory / source.manifest).write_text(manifest, "utf-8")
        readme = given.directory / "README.md"
        readme.write_text(_readme(readme.read_text("utf-8"), source, title.strip(), commands), "utf-8")
    say(
        f'A copy of {plain} ({source.format} format), titled "{title.strip()}", is in '
        f"{given.directory.resolve()}. Change {'network.py' if given.template else 'main.py'}, then:\n"
    )
    say("\n".join(f"  {command}" for command in _next_commands(given.directory, commands)))
    return 0


def _source(requested: str, name: str) -> BundledRepository:
    found = find_bundled(name)
    if found.track != requested:
        raise Refusal(
            f"{name} is a submission to the {found.track} track",
            fix=f"name a submission to the {requested} track, or run `gauntlet new {found.track}`",
        )
    return found


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Raise `Refusal` where `directory` cannot be read or written."""
    try:
        yield
    except OSError as error:
        raise Refusal(f"cannot write to {directory}: {error.strerror}", fix="name another directory") from None


def _require_empty(directory: Path) -> None:
    """Raise `Refusal` unless `directory` is missing or empty, except for the `.git` of a new clone."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise Refusal(f"{directory} is not a directory", fix="name a new directory")
    names = sorted(path.name for path in directory.iterdir() if path.name != _GIT)
    if manifest := next((name for name in names if name in _MANIFESTS), None):
        raise Refusal(f"{directory} already contains a submission ({manifest})", fix="change that submission")
    if names:
        raise Refusal(
            f"{directory} is not empty: it contains {names[0]}", fix="name a new directory, or an empty clone"
        )


def _title_from(directory: Path) -> str:
    """Return the directory's name as a title: `my-first_model` becomes "My first model"."""
    name = "".join(c if c.isprintable() else " " for c in directory.resolve().name)
    words = " ".join(re.split(r"[-_\s]+", name)).strip() or "My submission"
    return (words[0].upper() + words[1:])[:MAX_TITLE_CHARACTERS]


def _titled(source: BundledRepository, title: str) -> str:
    """Return the text of the manifest of `source` with another title. Raise `Refusal` for an invalid title."""
    try:
        return format_called(source.format).retitle((source.source / source.manifest).read_text("utf-8"), title)
    except ManifestRefusal as refusal:
        raise Refusal(refusal.problem.partition(": ")[2], fix="choose another --title") from None


def _require_address(competition: str) -> None:
    """Raise `Refusal` unless it is the address of a competition."""
    if not is_competition_address(competition):
        raise Refusal(
            f"{competition!r} is no address of a competition",
            fix="write it as SITE/competitions/SLUG; by the rules of a file: gauntlet check --competition FILE DIR",
        )


def _trial(source: BundledRepository, directory: Path) -> list[str]:
    """Return the command of a first match, none for what does not work on digits."""
    if source.data_sets and DIGITS not in source.data_sets:
        return []
    out = shlex.quote(f"../{directory.resolve().name}-result")
    return [f"play {_FIRST[source.track].trial} --samples 20 --out {out}"]


def _readme(copied: str, source: BundledRepository, title: str, trials: list[str]) -> str:
    """Return a README with the next steps, first `trials`, and what the one of `source` says, with its training."""
    first_tag = next_tag(())
    commands = [
        *(f"gauntlet {command}" for command in trials),
        "git add --all",
        'git commit --message "First submission"',
        f"git tag {first_tag}",
        f"git push origin HEAD {first_tag}",
    ]
    steps = "\n".join(commands)
    about = re.sub(r"\A# (.*)", r"## What was copied: \1", copied).rstrip()
    if source.training:
        about = f"{about}\n\n{source.training} `training.json` has the rest."
    return (
        f"# {title}\n\nThis began as a copy of {source.origin}. Describe here what yours does.\n\n"
        f"## Next steps\n\nMake it yours, then:\n\n```sh\n{steps}\n```\n\n"
        f"Every further submission is a commit with a new tag that begins with `{SUBMISSION_PREFIX}`.\n\n{about}\n"
    )


def _next_commands(directory: Path, trials: list[str]) -> list[str]:
    """Return the commands from here to the submission, of which `trials` come first."""
    here = directory.resolve() == Path.cwd()
    cloned = (directory / _GIT).exists()
    tag = next_tag(_tags_of(directory) if cloned else ())
    return [
        *([] if here else [f"cd {shlex.quote(str(directory))}"]),
        *(f"{_this_program()} {command}" for command in trials),
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
    except (OSError, subprocess.SubprocessError):  # no git or no repository: no tags
        return []


def _this_program() -> str:
    """Return the command that runs this program from any directory."""
    if shutil.which("gauntlet"):
        return "gauntlet"
    program = Path(sys.argv[0])
    if program.name == "gauntlet" and program.is_file():
        return shlex.quote(str(program.absolute()))
    return f"{shlex.quote(sys.executable)} -m evaluation"
