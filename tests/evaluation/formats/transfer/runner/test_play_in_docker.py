"""Both phases of the transfer format in containers: what submissions see, and what they leave."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.domain.samples import Sample
from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.batch_in_sandbox import OUTPUT_IMAGES, RunEnvironment, run_batch
from evaluation.formats.transfer.runner.batch_runner import BatchRunner
from evaluation.formats.transfer.runner.batches import make_batches
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.play_match import TransferMatch, play
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.legacy.environment import IMAGE_VARIABLE, VARIABLE
from evaluation.sandbox.base import Resources
from evaluation.sandbox.docker_engine import NO_NETWORK
from evaluation.sandbox.docker_sandbox import DockerSandbox

pytestmark = pytest.mark.docker

ENGINE = Path("/var/run/docker.sock")
ORDINARY_USER = 1000
ATTACK = """
test "$PWD $1 $2 $3" = "/code /input_images /output_images 4" || exit 11
touch left && mv run.sh other || exit 12
touch "$1"/x 2>/dev/null && exit 13
python -c "import socket; socket.create_connection(('1.1.1.1', 53), 1)" 2>/dev/null && exit 14
cp "$1"/*.png "$2" && mkdir -p "$2"/below && touch "$2"/below/file && chmod -R go-rwx "$2"/below
"""
DEFENCE = """
test "$PWD $2" = "/code /output_data/result.csv" || exit 11
python -c "import collections; collections.Iterable" || exit 12
touch /legacy_modules/x 2>/dev/null && exit 13
for f in "$1"/*.png; do echo "$(basename $f),1"; done >"$2"
"""


@pytest.fixture
def played(
    submission: Callable[..., TransferPlayer],
    repository: Callable[..., Path],
    samples: list[Sample],
    rules: TransferRules,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> TransferResult:
    """One attack of today against one defence of 2017, on one batch; the base image is also the legacy one."""
    sandbox = DockerSandbox()
    attack = replace(submission(ATTACK, "attack", "attack"), image=sandbox.base_image)
    monkeypatch.setenv(VARIABLE, sys.prefix)
    monkeypatch.setenv(IMAGE_VARIABLE, sandbox.base_image)
    source = repository(DEFENCE, "defense", "defense")
    (source / "run.sh").chmod(0o700)  # as in the checkouts of a site
    defence = build_player(source, sandbox="docker", on_log=print)
    match = TransferMatch(replace(rules, batch_seconds=60.0), [attack], [defence], samples[:3], seed=0)
    resources = Resources(scratch_bytes=8 << 20)
    return play(
        match,
        sandbox=sandbox,
        directory=tmp_path / "out",
        resources=resources,
        on_batch=lambda batch: None,
        on_log=lambda player, log: None,
    )


@pytest.fixture
def changed_image() -> Iterator[str]:
    """An image whose `chmod` goes on with the work of the attack."""
    sandbox = DockerSandbox()
    work = "cp /bin/chmod /bin/old; printf '#!/bin/sh\\ncp /input_images/*.png /output_images' >/bin/chmod"
    container = sandbox.client.containers.create(sandbox.base_image, ["sh", "-c", work], user="0", **NO_NETWORK)
    container.start()
    assert container.wait()["StatusCode"] == 0
    image = container.commit()
    container.remove()
    yield str(image.id)
    sandbox.client.images.remove(str(image.id))


def test_no_code_of_the_submission_runs_after_its_end(
    changed_image: str,
    submission: Callable[..., TransferPlayer],
    samples: list[Sample],
    rules: TransferRules,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that is not root makes the files readable in a container, after the run."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    attack = replace(submission('umask 077; cp "$1"/IMG000000.png "$2"', "attack", "attack"), image=changed_image)
    stage = RunEnvironment(DockerSandbox(), Resources(scratch_bytes=8 << 20), 1.0, threading.Event())
    batch = make_batches(samples[:3], rules, seed=0)[0]
    made = BatchRunner(rules, stage, 0, lambda player, log: None).attack(attack, batch)
    assert made.made.tolist() == [True, False, False]


@pytest.fixture
def sandbox() -> DockerSandbox:
    """The sandbox, with its guards proved."""
    made = DockerSandbox()
    made.require_guards()
    return made


@pytest.fixture
def readable_submission(sandbox: DockerSandbox) -> Iterator[TransferPlayer]:
    """A submission, in a folder that every user can read, that makes a directory with the sticky bit."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        script = Path(made) / "run.sh"
        script.write_text('#!/bin/sh\nmkdir "$2"/sticky && touch "$2"/sticky/file && chmod 1777 "$2"/sticky\n')
        script.chmod(0o755)
        yield TransferPlayer("any", TransferTrack.ATTACK, "run.sh", "any", Path(made), image=sandbox.base_image)


@pytest.fixture
def ordinary_user(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files of a user with access to the engine who is not root; it becomes this process's."""
    root, group = os.geteuid() == 0, os.getegid()
    with tempfile.TemporaryDirectory() as made:
        monkeypatch.setattr(tempfile, "tempdir", made)
        if root:
            os.chown(made, ORDINARY_USER, ORDINARY_USER)
            os.setegid(ENGINE.stat().st_gid)
            os.seteuid(ORDINARY_USER)
        try:
            yield Path(made)
        finally:
            if root:
                os.seteuid(0)
                os.setegid(group)


def test_what_only_the_user_of_a_container_may_remove_is_removed(
    sandbox: DockerSandbox, readable_submission: TransferPlayer, ordinary_user: Path
) -> None:
    stage = RunEnvironment(sandbox, Resources(scratch_bytes=8 << 20), 1.0, threading.Event())
    run = run_batch(stage, readable_submission, {}, lambda place: (place,), output=OUTPUT_IMAGES, seconds=60.0)
    with run as (written, finished):
        assert finished.run.reason is None
        with pytest.raises(PermissionError):
            (written / "sticky" / "file").unlink()
    assert not list(ordinary_user.iterdir())


def test_the_digest_of_a_submission_of_2017_has_the_image_it_runs_in(
    changed_image: str, repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, sys.prefix)
    source = repository(DEFENCE, "defense", "defense")
    players = []
    for image in (DockerSandbox().base_image, changed_image):
        monkeypatch.setenv(IMAGE_VARIABLE, image)
        players.append(build_player(source, sandbox="docker", on_log=print))
    assert players[0].digest != players[1].digest
    assert players[1].image == changed_image


def test_both_phases_are_played_in_containers_and_leave_nothing(played: TransferResult) -> None:
    assert [(batch.run.reason, batch.run.detail) for batch in played.made] == [(None, "")]
    assert [(batch.run.reason, batch.run.detail) for batch in played.labelled] == [(None, "")]
    assert played.pairs() == [PairCounts("attack", "defense", False, 3, 3, 3, 1)]
    assert not list(Path(tempfile.gettempdir()).glob("gauntlet-batch-*/output/below"))
