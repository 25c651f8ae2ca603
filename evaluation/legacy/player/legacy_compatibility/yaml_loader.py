"""`yaml.load` as before PyYAML 6: without a loader."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any


def restore(yaml: ModuleType) -> None:
    """Give `load` and `load_all` their default loader back."""
    names: Any = yaml
    for name in ("load", "load_all"):
        setattr(yaml, name, with_loader(getattr(yaml, name), names.FullLoader))


def with_loader(load: Any, loader: Any) -> Any:
    """Return `load`, whose argument `Loader` is `loader` unless it is given."""

    @functools.wraps(load)
    def load_without_loader(stream: Any, Loader: Any = loader) -> Any:  # noqa: N803 - PyYAML's name
        return load(stream, Loader=Loader)

    return load_without_loader
