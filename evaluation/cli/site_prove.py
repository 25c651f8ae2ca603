"""`gauntlet prove`: upload images that are nearer than the best known ones of a released model."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evaluation.cli import submission_log
from evaluation.cli.output import print_facts, print_json, say
from evaluation.cli.positive_number import positive
from evaluation.cli.site_client import SiteClient, SiteProof
from evaluation.cli.site_fetch import round_of
from evaluation.cli.site_login import add_json, add_site, public_client
from evaluation.domain.errors import Refusal

VERIFIED = "verified"


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "prove",
        help="upload adversarial images against a released model",
        description="Uploads images of a round of the curves format that are nearer to their clean images than the "
        "best known ones. A worker of the site verifies them.",
    )
    command.add_argument("round", metavar="ROUND", help="SLUG/NUMBER, or the address of the round's page")
    command.add_argument("model", type=positive, metavar="MODEL", help="the number of a submission that is released")
    command.add_argument("file", type=Path, metavar="FILE", help="an archive of images: .npz, or JSON")
    command.add_argument("--wait", action="store_true", help="wait for the verification")
    add_site(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    site, slug, number = round_of(given.round)
    client = public_client(given, site)
    if not client.token:
        raise Refusal(f"you are not signed in to {client.site}", fix=f"run: gauntlet login {client.site}")
    try:
        content = given.file.read_bytes()
    except OSError as error:
        raise Refusal(f"{given.file} cannot be read: {error.strerror}", fix="name an archive of images") from None
    proofs = f"competitions/{quote(slug)}/rounds/{number}/models/{given.model}/proofs"
    made = client.upload_proof(proofs, content)
    try:
        shown = _followed(client, proofs, made) if given.wait else made
    except KeyboardInterrupt:
        say(f"Proof {made.number} is verified without this command.")
        return 130
    if given.json:
        print_json(client.get(f"{proofs}/{made.number}"))
    else:
        print_facts(
            [
                ("proof", f"{shown.number}, {shown.images} images"),
                ("state", shown.outcome or shown.state),
                *[(verdict, str(count)) for verdict, count in shown.verdicts.items()],
                *([("improvements", str(shown.improvements))] if shown.outcome else []),
            ]
        )
    return 3 if given.wait and shown.outcome != VERIFIED else 0


def _followed(client: SiteClient, proofs: str, made: SiteProof) -> SiteProof:
    """Return a proof once it is verified, or is not verified for a reason."""
    say(f"Proof {made.number} waits for its verification.")
    while True:
        shown = submission_log.patiently(lambda: client.proof(proofs, made.number))
        if shown.outcome or shown.state == "failed":
            return shown
        time.sleep(submission_log.EVERY)
