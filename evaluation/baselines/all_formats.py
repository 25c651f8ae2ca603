"""The bundled submissions of all formats."""

from __future__ import annotations

from evaluation.baselines.catalogue import Baseline, baselines
from evaluation.baselines.transfer_catalogue import TransferBaseline, transfer_baselines
from evaluation.domain.errors import Refusal

Bundled = Baseline | TransferBaseline


def all_bundled() -> tuple[Bundled, ...]:
    """Return all bundled submissions, those of the query format first. No two have the same name."""
    return (*baselines(), *transfer_baselines())


def find_bundled(name: str) -> Bundled:
    """Return the bundled submission `name`. Raise `Refusal` if there is none."""
    found = next((each for each in all_bundled() if each.name == name), None)
    if found is None:
        raise Refusal(f"no bundled submission is called {name!r}", fix="run `gauntlet baselines` to list them")
    return found
