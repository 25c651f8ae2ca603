"""`gauntlet pictures`: the pictures of a smoke test, a challenge or a match on public images, in a directory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evaluation.cli.output import print_json, progress_bar, say
from evaluation.cli.positive_number import positive
from evaluation.cli.site_client import SiteBuilds, SiteClient, SitePicturedMatch, SitePicturedSample, SiteRefusal
from evaluation.cli.site_login import add_json, add_site, site_client
from evaluation.domain.errors import Refusal

_NAMES = ("clean", "perturbed")


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "pictures",
        help="download the pictures of a smoke test, a challenge or a match",
        description="Downloads the clean and the perturbed image of each sample as PNG: of the newest smoke test of a "
        "submission of your team, or of one of its challenges or matches. Those of secret samples are not shown.",
    )
    command.add_argument("submission", type=positive, metavar="SUBMISSION", help="the number of a submission")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--challenge", type=positive, metavar="N", help="the number of a challenge of the submission")
    which.add_argument("--match", metavar="KEY", help="a match of its competition, as `gauntlet matches` names it")
    command.add_argument("--into", type=Path, metavar="DIR", help="the directory (default: named after what it shows)")
    add_site(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    client = site_client(given)
    name, below, rows = _shown(client, given)
    pictures = [(row.sample, each) for row in rows for each in _NAMES if each in row.pictures]
    directory: Path = given.into or Path(name)
    try:
        files = list(_fetched(client, below, pictures, directory))
    except OSError as error:
        raise Refusal(f"cannot write to {directory}: {error.strerror}", fix="name another one with --into") from None
    if given.json:
        print_json({"directory": str(directory), "files": files})
    say(f"{len(files)} pictures of {len(rows)} samples are in {directory}.")
    return 0


def _shown(client: SiteClient, given: argparse.Namespace) -> tuple[str, str, list[SitePicturedSample]]:
    """Return the name of what is shown, the address below which its samples are, and these samples."""
    number = given.submission
    if given.match:
        below = f"competitions/{quote(client.submission(number).competition)}/matches/{quote(given.match)}"
        name, rows = f"match-{given.match.replace('/', '-')}", client.read(SitePicturedMatch, client.get(below)).samples
    elif given.challenge:
        below = f"submissions/{number}/challenges/{given.challenge}"
        name, rows = f"challenge-{given.challenge}", client.read(SitePicturedMatch, client.get(below)).samples
    else:
        builds = client.read(SiteBuilds, client.get(f"submissions/{number}")).builds
        if not builds:
            raise SiteRefusal("unknown", f"submission {number} has no smoke test to see", fix="name one of your team")
        below = f"submissions/{number}/builds/{builds[-1].attempt}"
        name = f"submission-{number}"
        rows = [client.read(SitePicturedSample, row) for row in client.rows(f"{below}/samples")]
    if not rows:
        what = "they are kept for 30 days" if name.startswith("submission") else "secret ones are not shown"
        raise SiteRefusal(
            "unknown", f"the site shows no samples of it: {what}", fix="gauntlet challenge plays public ones"
        )
    return name, below, rows


def _fetched(
    client: SiteClient, below: str, pictures: list[tuple[int, str]], directory: Path
) -> Iterator[dict[str, str | int]]:
    directory.mkdir(parents=True, exist_ok=True)
    with progress_bar(len(pictures), "pictures") as bar:
        for sample, name in pictures:
            path = directory / f"{sample}-{name}.png"
            path.write_bytes(client.content(f"{below}/samples/{sample}/{name}.png"))
            bar.step()
            yield {"sample": sample, "picture": name, "path": str(path)}
