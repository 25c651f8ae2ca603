"""`python -m bench.equal_surrogates`: gradient methods of the transfer format with equal surrogates, on all defences.

The bundled attacks have different surrogates, so a leaderboard of them compares surrogates under the names of methods.
Here each set of surrogates has an attack of each method, and a tournament of its own against all bundled defences, on
the validation digits at epsilon 16. With `--track targeted_attack` the methods differ in what of several surrogates
they average (Kurakin et al. 2018, section 5.5).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench.report import table
from evaluation.datasets.base import with_targets
from evaluation.datasets.load import load_dataset
from evaluation.formats.transfer.catalogue import TransferBaseline, transfer_baselines
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.play_match import TransferMatch, play
from evaluation.formats.transfer.runner.player_build import build_player
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.formats.transfer.scoring.scores import TransferStanding
from evaluation.formats.transfer.scoring.success_and_error_tables import accuracy, share_text, success
from evaluation.sandbox.base import Resources
from evaluation.sandbox.host_speed import calibrate
from evaluation.sandbox.process_sandbox import ProcessSandbox

METHODS: Mapping[TransferTrack, Mapping[str, str]] = {
    TransferTrack.ATTACK: {
        "iterative": "Method()",
        "iterative, step 0.1": "Method(step=0.1)",
        "momentum-iterative": "Method(step=0.1, momentum=1.0)",
        "fgsm": "Method(steps=1, step=1.0)",
    },
    TransferTrack.TARGETED_ATTACK: {
        "logits": "Method(steps=20, step=0.1)",
        "probabilities": "Method(steps=20, step=0.1, average='probabilities')",
        "losses": "Method(steps=20, step=0.1, average='losses')",
        "losses, and networks left out": "Method(steps=20, step=0.1, average='losses', enough=0.01)",
    },
}
"""The bundled methods, and the iterative one with the step of the momentum method. Towards a target, the averages."""

SEVERAL: Sequence[tuple[str, ...]] = (("plain", "frozen-noise"), ("plain", "robust", "frozen-noise"))
SURROGATES: Mapping[TransferTrack, Sequence[tuple[str, ...]]] = {
    TransferTrack.ATTACK: (("plain",), ("frozen-noise",), *SEVERAL),
    TransferTrack.TARGETED_ATTACK: SEVERAL,
}
"""Names of weights in the repositories of `ORIGINALS`; `plain` is the base network."""

ORIGINALS: Mapping[TransferTrack, str] = {
    TransferTrack.ATTACK: "momentum-iterative",
    TransferTrack.TARGETED_ATTACK: "loss-ensemble",
}
"""The bundled submissions whose repositories are copied."""

PROGRAM = """from __future__ import annotations

from gradient_attack import Method, main

if __name__ == "__main__":
    main({method}, digits={digits}, lite=(), targeted={targeted})
"""


def bundled(name: str) -> TransferBaseline:
    """Return the bundled submission of that name."""
    return next(each for each in transfer_baselines() if each.name == name)


def build(folder: Path, name: str) -> TransferPlayer:
    """Return the player of a repository, under this name."""
    return replace(build_player(folder, sandbox="process", on_log=lambda line: None), name=name)


def attack(folder: Path, track: TransferTrack, method: str, surrogates: tuple[str, ...]) -> TransferPlayer:
    """Return the attack of that method with these surrogates, from a repository that is written into `folder`."""
    bundled(ORIGINALS[track]).assemble(folder)
    targeted = track is TransferTrack.TARGETED_ATTACK
    program = PROGRAM.format(method=METHODS[track][method], digits=surrogates, targeted=targeted)
    (folder / "main.py").write_text(program, encoding="utf-8")
    return build(folder, method)


def played(
    track: TransferTrack,
    surrogates: tuple[str, ...],
    methods: Sequence[str],
    defences: Sequence[TransferPlayer],
    images: int,
) -> TransferResult:
    """Return the result of a tournament of all methods with these surrogates."""
    dataset = load_dataset("digits")
    with tempfile.TemporaryDirectory() as folder:
        match = TransferMatch(
            rules=TransferRules(shape=dataset.shape, classes=dataset.classes, epsilons=(16,)),
            attacks=[attack(Path(folder) / f"attack-{n}", track, name, surrogates) for n, name in enumerate(methods)],
            defences=defences,
            samples=with_targets(dataset.samples("validation", images), dataset.classes, 0),
            seed=0,
        )
        return play(
            match,
            sandbox=ProcessSandbox(),
            directory=Path(folder) / "result",
            resources=Resources(cpus=1, memory_bytes=8 << 30, scratch_bytes=2 << 30),
            calibration=calibrate(),
            on_batch=lambda batch: None,
            on_log=lambda player, log: None,
        )


def rows_of(track: TransferTrack, surrogates: tuple[str, ...], result: TransferResult) -> list[list[str]]:
    """Return the row of each method, the best first: the labels of each defence, score and rank.

    The labels are the share of right ones, of targeted attacks that of target classes.
    """
    pairs = {(pair.attack, pair.defence): pair for pair in result.pairs()}
    rows = []
    for place, standing in enumerate(result.board(track)):
        found = [pairs[standing.name, defence.name] for defence in result.defences]
        each = [success([pair]) if pair.targeted else accuracy(pair) for pair in found]
        shares = [share_text(share or 0.0, pair.labelled) for share, pair in zip(each, found, strict=True)]
        rows.append([", ".join(surrogates) if place == 0 else "", standing.name, *shares, *_score(standing)])
    return rows


def _score(row: TransferStanding) -> tuple[str, str]:
    interval = "" if row.low is None or row.high is None else f" ({row.low:.3f} to {row.high:.3f})"
    ranks = "" if row.rank_low is None else f" ({row.rank_low} to {row.rank_high})"
    return f"{row.score or 0.0:.3f}{interval}", f"{row.rank}{ranks}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--track", type=TransferTrack, choices=list(METHODS), default=TransferTrack.ATTACK)
    parser.add_argument("--smallest", action="store_true", help="run all code at the smallest size; no figure is valid")
    given = parser.parse_args()
    names = [each.name for each in transfer_baselines() if each.track is TransferTrack.DEFENCE]
    sets, methods, images = SURROGATES[given.track], list(METHODS[given.track]), given.images
    if given.smallest:
        names, sets, methods, images = names[:1], sets[:1], methods[-1:], 2
    defences = [build(bundled(name).repository(), name) for name in names]
    header = ("surrogates", "method", *names, "score", "rank")
    rows: list[list[str]] = []
    for surrogates in sets:
        rows += rows_of(given.track, surrogates, played(given.track, surrogates, methods, defences, images))
    print("\n".join(table(header, rows)))


if __name__ == "__main__":
    main()
