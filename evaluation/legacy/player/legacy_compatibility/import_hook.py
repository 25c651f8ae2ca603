"""Change modules when a program imports them."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Callable, Dict, Optional, Sequence, Set

Change = Callable[[ModuleType], None]


class ImportHook(importlib.abc.MetaPathFinder):
    """Calls a function with each of some modules, once it is imported."""

    def __init__(self) -> None:
        self._changes: Dict[str, Change] = {}
        self._made: Set[str] = set()
        self._searching: Set[str] = set()

    def after(self, name: str, change: Change, *, make: bool = False) -> None:
        """Have `change` called with the module `name`; `make` an empty module where there is none of that name."""
        self._changes[name] = change
        if make:
            self._made.add(name)

    def install(self) -> None:
        """Follow the imports of this process from now on, and change what is imported already."""
        sys.meta_path.insert(0, self)
        for name, change in self._changes.items():
            if name in sys.modules:
                change(sys.modules[name])

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """Return the spec of a module to change, with a loader that changes it; None for every other module."""
        if name not in self._changes or name in self._searching:
            return None
        self._searching.add(name)
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            spec = None
        finally:
            self._searching.discard(name)
        if spec is None or spec.loader is None:
            if name not in self._made:
                return None
            return importlib.machinery.ModuleSpec(name, _Loader(None, self._changes[name]))
        spec.loader = _Loader(spec.loader, self._changes[name])
        return spec


class _Loader(importlib.abc.Loader):
    """A module's own loader, followed by its change; no loader of its own makes an empty module."""

    def __init__(self, own: Optional[importlib.abc.Loader], change: Change) -> None:
        self._own = own
        self._change = change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return None if self._own is None else self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if self._own is not None:
            self._own.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._own, name)  # the rest of a loader's interface: get_data, is_package ...
