"""Pairs of a released round of the transfer format, played again."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from competitions.models import Competition
from evaluation.cli import main
from formats.transfer.tournaments import services
from rounds.publishing.publication import publish
from rounds.release.released_parts import open_part, release
from rounds.release.signing_keys import public_key
from submissions.models import Submission
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import ADD, CHECKSUM
from tests.platform.formats.transfer.tournaments.play_rounds import begin, plan, play

DICE = ADD.replace("import sys", "import random, sys").replace("level + int(epsilon)", "level + random.randrange(9)")


@pytest.fixture
def directory(
    transfer: Competition, olga: User, push: Callable[..., Submission], the_clock: FakeClock, tmp_path: Path
) -> Path:
    """What `gauntlet fetch` makes of a round of two attacks, a defence and a baseline."""
    the_clock.at = timezone.now()
    sent = [push("owls", "attack", ADD), push("cats", "attack", DICE), push("bats", "defence", CHECKSUM)]
    services.make_baselines()
    the_clock.at = timezone.now()
    round_ = plan(transfer, olga)
    begin(round_, olga, the_clock)
    play(round_)
    publish(round_=round_, by=olga, reason="It looks right.")
    the_clock.at = round_.window.ends_at
    folder = tmp_path / "round"
    (folder / "code").mkdir(parents=True)
    for part, name in (("images", "images.zip"), ("bundle", "bundle.gauntlet")):
        release(round_=round_, part=part, by=olga, reason="It is over.")
        with open_part(round_, part).open() as file, (folder / name).open("wb") as copy:
            shutil.copyfileobj(file, copy)
    (folder / "signing-key.txt").write_text(public_key())
    for each in sent:
        copy_of = folder / "code" / f"{each.repository.entry.team.slug}--{each.repository.track.name}"
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", each.repository.path, copy_of], check=True)
    return folder


@pytest.fixture
def replay(directory: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], tuple[int, dict[str, Any]]]:
    """Play the match of an attack again, named by its team or as a baseline; return exit status and comparison."""

    def run(attack: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        assert main(["matches", "--from", str(directory), "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        match = next(each["match"] for each in listed if each["attack"].split(":")[0] == attack)
        status = main(["replay", match, "--from", str(directory), "--json"])
        return status, json.loads(capsys.readouterr().out)

    return run


@pytest.mark.slow(6)
def test_images_and_labels_are_compared(replay: Callable[[str], tuple[int, dict[str, Any]]]) -> None:
    status, found = replay("owls")
    assert (status, found["same"], found["columns"], len(found["samples"])) == (0, True, ["image", "label"], 6)
    assert all(label >= 0 for _, label in (row["published"] for row in found["samples"]))
    status, found = replay("noop")
    assert (status, found["same"]) == (0, True), "a bundled submission, by its name"
    status, found = replay("cats")
    assert (status, found["same"]) == (1, False), "it draws without a seed"
    assert all(row["published"][0] != row["replayed"][0] for row in found["samples"])
