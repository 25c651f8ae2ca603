"""Both phases of the transfer format in containers: what submissions see, and what they leave."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.domain.samples import Sample
from evaluation.domain.transfer_results import PairCounts
from evaluation.domain.transfer_rules import TransferRules
from evaluation.legacy.environment import IMAGE_VARIABLE, VARIABLE
from evaluation.sandbox.base import Resources
from evaluation.sandbox.docker import DockerSandbox
from evaluation.transfer.build import build_player
from evaluation.transfer.play import Match, play
from evaluation.transfer.player import TransferPlayer
from evaluation.transfer.result import TransferResult

pytestmark = pytest.mark.docker

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
    match = Match(replace(rules, batch_seconds=60.0), [attack], [defence], samples[:3], seed=0)
    resources = Resources(scratch_bytes=8 << 20)
    return play(
        match,
        sandbox=sandbox,
        directory=tmp_path / "out",
        resources=resources,
        on_batch=lambda batch: None,
        on_log=lambda player, log: None,
    )


def test_it_works(played: TransferResult) -> None:
    assert [(batch.run.reason, batch.run.detail) for batch in played.made] == [(None, "")]
    assert [(batch.run.reason, batch.run.detail) for batch in played.labelled] == [(None, "")]
    assert played.pairs() == [PairCounts("attack", "defense", False, 3, 3, 3, 1)]
    assert not list(Path(tempfile.gettempdir()).glob("gauntlet-batch-*/output/below"))
