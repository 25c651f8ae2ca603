"""Questions that a lower app asks higher ones, without naming them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
Answer = TypeVar("Answer")


class ExtensionPoint(Generic[P, Answer]):
    """Functions that answer a question, of apps that add theirs in `AppConfig.ready`."""

    def __init__(self) -> None:
        self._functions: list[Callable[P, Answer]] = []

    def add(self, function: Callable[P, Answer]) -> Callable[P, Answer]:
        """Add a function; usable as a decorator."""
        self._functions.append(function)
        return function

    def answers(self, *args: P.args, **kwargs: P.kwargs) -> list[Answer]:
        """Return the answer of each function."""
        return [function(*args, **kwargs) for function in self._functions]
