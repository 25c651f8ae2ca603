"""A full disk of the host is a platform error for every run there, but for the one that filled it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

MIB = 1 << 20
HIDDEN = f"""
for number in 3 4 5 6 7 8 9; do
  eval "exec $number>'$2/a'"; rm "$2/a"; eval "head -c {8 * MIB - 1} /dev/zero >&$number"
done
sleep 60
"""
"""It holds 56 MiB in files that are in no directory."""
WITHIN_ITS_LIMIT = f'for name in a b c; do head -c {12 * MIB} /dev/zero >"$2"/$name; done; cp "$1"/*.png "$2"; sleep 5'

PLAY = """
import sys, threading
from pathlib import Path
import numpy as np
from evaluation.domain.errors import Fault
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.rules import TransferRules
from evaluation.sandbox.base import Resources
from evaluation.sandbox.process_sandbox import ProcessSandbox
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.play_match import TransferMatch, play

built = [build_player(Path(each), sandbox="process", on_log=lambda line: None) for each in sys.argv[2:]]
hidden, defence, *both = built
rules = TransferRules(shape=ImageShape(8, 8, 3), classes=10, batch_images=3)
samples = [Sample(0, np.zeros((8, 8, 3), np.uint8), 0, 1)]

def outcome(attacks, size):
    return play(
        TransferMatch(rules, attacks, [defence], samples, seed=0, workers=len(attacks)), sandbox=ProcessSandbox(),
        directory=Path(sys.argv[1]) / str(size), resources=Resources(scratch_bytes=size << 20),
        on_batch=lambda batch: None, on_log=lambda player, log: None,
    )

for attacks, size in (([hidden], 8), (both, 40), ([hidden], 100)):
    try:
        print("played:", [batch.run.reason for batch in outcome(attacks, size).made])
    except Fault as fault:
        print("fault:", fault)
"""


def test_a_full_disk_is_a_fault_unless_the_run_went_beyond_its_own_limit(
    repository: Callable[..., Path], root: Path, tmp_path: Path
) -> None:
    players = [
        repository(HIDDEN, name="hidden"),
        repository('echo >"$2"', "defense", "defence"),
        *(repository(WITHIN_ITS_LIMIT, name=name) for name in "ab"),
    ]
    with tempfile.TemporaryDirectory(prefix="disk-") as disk:
        environment = os.environ | {"TMPDIR": disk, "XDG_STATE_HOME": str(tmp_path / "state")}
        # bubblewrap makes the small file system without privileges
        mounted = ["bwrap", "--dev-bind", "/", "/", "--size", str(110 * MIB), "--tmpfs", disk]
        done = subprocess.run(
            [*mounted, sys.executable, "-c", PLAY, str(tmp_path), *map(str, players)],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    beyond_its_limit, full, too_small = done.stdout.splitlines()
    assert beyond_its_limit == "played: [<BatchReason.TOO_MUCH_OUTPUT: 'too_much_output'>]"
    assert full.startswith("fault: ")  # while it was played, or before it was started
    assert "MiB free" in full
    assert " MiB free, and a run may write 100 MiB in 1,001 files; free some" in too_small
