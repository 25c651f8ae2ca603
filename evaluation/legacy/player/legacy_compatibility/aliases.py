"""Modules under names that they had before."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
from types import ModuleType
from typing import Dict, Optional, Sequence


class Aliases(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `OLD` and every `OLD.name` as `NEW` and `NEW.name`."""

    def __init__(self, names: Dict[str, str]) -> None:
        """Take the new name of each old one."""
        self._names = names

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """Return the spec of an old name; None for every other."""
        if self._new_name(name) is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return a module with all that the one of the new name has."""
        new_name = self._new_name(spec.name)
        if new_name is None:
            raise ImportError(spec.name)
        module = ModuleType(spec.name)
        own = vars(importlib.import_module(new_name))
        vars(module).update({name: value for name, value in own.items() if not name.startswith("__")})
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module of the new name has run."""

    def _new_name(self, name: str) -> Optional[str]:
        for old, new in self._names.items():
            if name == old or name.startswith(old + "."):
                return new + name[len(old) :]
        return None
