"""Cards of models in the format of RobustBench (Croce et al. 2021), whose maintainers collect them in `model_info/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

from evaluation.formats.curves.results import Results
from evaluation.formats.curves.scoring.curves import accuracy_by_strength
from evaluation.formats.curves.scoring.suspicions import AUTOATTACK, suspicions
from evaluation.formats.curves.threat_models import Norm

ModelCard: TypeAlias = Mapping[str, str | int | bool]

_FOLDERS = {Norm.LINF: "Linf", Norm.L2: "L2"}


def model_cards(results: Sequence[Results], warnings: Mapping[str, Sequence[str]]) -> dict[PurePosixPath, ModelCard]:
    """Return a card for each run of AutoAttack in Linf or L2, by its path.

    Who published a model is not known here: these fields are empty. It is called unreliable where the suspicion card or
    the `warnings` of AutoAttack about the models say so.
    """
    cards = {}
    for each in results:
        folder = _FOLDERS.get(each.threat_model.norm)
        if each.attack != AUTOATTACK or folder is None:
            continue
        same = [
            other for other in results if (other.model, other.threat_model.norm) == (each.model, each.threat_model.norm)
        ]
        doubtful = bool(suspicions(same) or warnings.get(each.model))
        path = PurePosixPath("model_info", each.dataset, folder, f"{each.model}.json")
        cards[path] = _card(each, unreliable=doubtful)
    return cards


def _card(results: Results, *, unreliable: bool) -> ModelCard:
    accuracy = f"{100 * accuracy_by_strength(results)[-1]:.2f}"
    return {
        "link": "",
        "name": results.model,
        "authors": "",
        "additional_data": False,
        "number_forward_passes": int(str(results.parameters.get("passes", 1))),
        "dataset": results.dataset,
        "venue": "",
        "architecture": "",
        "eps": _budget(results.fixed_budget, results.threat_model.norm),
        "clean_acc": f"{100 * results.right.mean():.2f}",
        "reported": accuracy,
        "autoattack_acc": accuracy,
        "footnote": f"{len(results.labels)} images; AutoAttack as in Gauntlet, seed {results.parameters['seed']}.",
        "unreliable": unreliable,
    }


def _budget(budget: float, norm: Norm) -> str:
    """Return a budget as RobustBench writes it: 8/255 in Linf."""
    steps = budget * 255
    return f"{round(steps)}/255" if norm is Norm.LINF and abs(steps - round(steps)) < 1e-6 else f"{budget:g}"
