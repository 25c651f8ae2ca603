"""`python -m bench.cifar10_findings DIR...`: table 3 and the findings of Dong et al. 2020 from results on CIFAR-10.

Each DIR is one of `gauntlet benchmark --dataset cifar10:...`; `docs/benchmark.md` has the commands.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.report import table
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.runner.results_file import decode
from evaluation.formats.curves.scoring.curves import median_distance
from evaluation.formats.curves.scoring.paper_findings import Roles, findings
from evaluation.formats.curves.scoring.suspicions import accuracy_at_fixed
from evaluation.formats.curves.threat_models import Goal, Norm

ROLES = Roles(
    natural="cifar10-natural",
    pgd_at="cifar10-pgd-at",
    trades="cifar10-trades",
    randomised=("cifar10-rse", "cifar10-resize-pad", "cifar10-randmix"),
    transformations=("cifar10-jpeg", "cifar10-bit-reduction", "cifar10-resize-pad", "cifar10-randmix"),
)

PAPER_MODELS = {
    "cifar10-natural": "Res-56",
    "cifar10-pgd-at": "PGD-AT",
    "cifar10-trades": "TRADES",
    "cifar10-jpeg": "JPEG",
    "cifar10-rse": "RSE",
    "cifar10-convex": "Convex",
    "cifar10-deep-defense": "DeepDefense",
}
"""The models of table 3 that ours stand for; the column of ADP is missing in the text at hand."""

PAPER = {
    "clean": (
        "92.6", "87.3", "84.9", "80.9", "86.1", "66.3", "79.7",
    ),
    "fgsm": (
        "0.005 / 21.6", "0.039 / 56.0", "0.047 / 60.9", "0.012 / 31.2", "0.020 / 29.0", "0.017 / 36.6", "0.001 / 9.2",
    ),
    "bim": (
        "0.002 / 0.0", "0.030 / 48.3", "0.037 / 56.8", "0.008 / 3.2", "0.018 / 23.5", "0.016 / 34.3", "0.001 / 0.0",
    ),
    "mim": (
        "0.003 / 0.0", "0.032 / 50.9", "0.040 / 58.1", "0.008 / 6.1", "0.019 / 25.1", "0.016 / 34.9", "0.001 / 0.0",
    ),
    "deepfool": (
        "0.003 / 0.0", "0.040 / 56.5", "0.047 / 60.6", "0.007 / 3.1", "0.021 / 35.9", "0.015 / 32.9", "0.001 / 0.0",
    ),
    "transfer-fgsm": (
        "0.067 / 72.9", "0.067 / 71.3", "0.087 / 73.6", "0.051 / 62.8", "0.048 / 62.0", "0.050 / 57.5", "0.048 / 62.1",
    ),
    "transfer-bim": (
        "0.049 / 70.3", "0.055 / 70.2", "0.069 / 72.2", "0.039 / 58.9", "0.041 / 60.0", "0.044 / 56.7", "0.041 / 58.8",
    ),
    "transfer-mim": (
        "0.052 / 71.5", "0.056 / 70.4", "0.067 / 72.2", "0.041 / 59.9", "0.043 / 59.8", "0.045 / 56.6", "0.041 / 59.4",
    ),
    "transfer-dim": (
        "0.052 / 73.3", "0.056 / 70.0", "0.063 / 70.5", "0.043 / 61.1", "0.043 / 60.2", "0.044 / 55.3", "0.043 / 58.8",
    ),
    "nes": (
        "0.004 / 0.0", "0.048 / 65.5", "0.055 / 66.7", "0.001 / 2.1", "0.293 / 79.7", "0.025 / 44.0", "0.002 / 0.0",
    ),
    "spsa": (
        "0.003 / 0.0", "0.042 / 61.1", "0.049 / 64.9", "0.001 / 2.1", "0.208 / 78.7", "0.021 / 39.7", "0.002 / 0.0",
    ),
    "n-attack": (
        "0.002 / 0.0", "0.030 / 48.6", "0.037 / 55.8", "0.000 / 0.0", "0.031 / 48.6", "0.016 / 33.1", "0.001 / 0.0",
    ),
}  # fmt: skip
"""Table 3 (untargeted, L-inf): median of the smallest distance / accuracy in % at 8/255, in the order of the models."""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.cifar10_findings", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="directories of gauntlet benchmark")
    results = read(parser.parse_args().folders)
    print("\n".join(table_3(results)))
    print()
    print("\n".join(table_of_findings(results)))


def read(folders: Iterable[Path]) -> list[Results]:
    """Return the results in the directories of benchmarks."""
    return [decode(path.read_bytes()) for folder in folders for path in sorted((folder / "results").glob("*.npz"))]


def table_3(results: Sequence[Results]) -> list[str]:
    """Return table 3 with what the paper has beneath, as Markdown."""
    natural = next((each.model_digest for each in results if each.model == ROLES.natural), None)
    chosen = {
        (each.model, each.attack): each
        for each in results
        if (each.threat_model.goal, each.threat_model.norm) == (Goal.UNTARGETED, Norm.LINF)
        and (natural is None or each.parameters.get("substitute") != natural)
    }
    models = sorted({model for model, _ in chosen}, key=_place)
    clean = {model: next(each for (name, _), each in chosen.items() if name == model) for model in models}
    rows = [
        ("clean", *(f"{100 * clean[model].right.mean():.1f}{_paper('clean', model)}" for model in models)),
        (
            "images",
            *(
                "/".join(
                    str(each)
                    for each in sorted(
                        {len(each.labels) for (name, _), each in chosen.items() if name == model}, reverse=True
                    )
                )
                for model in models
            ),
        ),
        *(
            (attack, *(_cell(chosen.get((model, attack)), attack, model) for model in models))
            for attack in PAPER
            if any((model, attack) in chosen for model in models)
        ),
    ]
    return table(("attack", *(model.removeprefix("cifar10-") for model in models)), rows)


def table_of_findings(results: Sequence[Results]) -> list[str]:
    """Return what the results say of each finding, as Markdown."""
    words = {True: "yes", False: "no", None: "-"}
    rows = [
        (str(each.number), each.statement, each.figure, words[each.holds], str(each.images))
        for each in findings(results, ROLES)
    ]
    return table(("finding", "statement", "figure", "holds", "images"), rows)


def _place(model: str) -> int:
    order = (*PAPER_MODELS, "cifar10-adp", "cifar10-bit-reduction", "cifar10-resize-pad", "cifar10-randmix")
    return order.index(model) if model in order else len(order)


def _cell(results: Results | None, attack: str, model: str) -> str:
    if results is None:
        return "-"
    median = median_distance(results)
    shown = "none" if math.isinf(median) else f"{median:.3f}"
    return f"{shown} / {100 * accuracy_at_fixed(results):.1f}{_paper(attack, model)}"


def _paper(row: str, model: str) -> str:
    return f" ({PAPER[row][list(PAPER_MODELS).index(model)]})" if model in PAPER_MODELS else ""


if __name__ == "__main__":
    main()
