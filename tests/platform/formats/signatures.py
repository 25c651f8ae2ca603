"""Whether a part of a format implements the interface of the app that asks for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Protocol, get_args, get_origin, get_type_hints

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def differences(part: object, interface: type) -> Iterator[str]:
    """Yield what `part` lacks of a protocol or a named tuple, or takes differently, one line each."""
    if Protocol not in interface.__bases__:
        if not isinstance(part, interface):
            yield f"{part!r} is no {interface.__name__}"
            return
        for name, kind in get_type_hints(interface).items():
            taken = get_args(kind)[0] if get_origin(kind) is get_origin(Callable[[], None]) else None
            if isinstance(taken, list) and not _takes(getattr(part, name), len(taken)):
                yield f"{name} does not take {len(taken)} values"
        return
    for name, member in _members(interface):
        if not hasattr(part, name):
            yield f"{name} is missing"
        elif inspect.isfunction(member):
            found = getattr(part, name)
            if not callable(found):
                yield f"{name} is no method"
            else:
                yield from (f"{name}: {each}" for each in _mismatches(member, found))


def _members(interface: type) -> Iterator[tuple[str, Any]]:
    """Yield the methods, properties and attributes of a protocol and of those that it extends."""
    for base in inspect.getmro(interface):
        if Protocol in base.__bases__:
            for name, member in vars(base).items():
                own = inspect.isfunction(member) or isinstance(member, property)
                if own and (not name.startswith("_") or name == "__call__"):
                    yield name, member
            yield from ((name, None) for name in inspect.get_annotations(base))


def _takes(function: object, count: int) -> bool:
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    return True


def _mismatches(asked: Callable[..., Any], found: Callable[..., Any]) -> Iterator[str]:
    """Yield why a call that fits the interface might not fit the method: names, order and kinds of its parameters."""
    wanted = list(inspect.signature(asked).parameters.values())[1:]  # without self
    given = inspect.signature(found).parameters
    ordered = [each.name for each in given.values() if each.kind in POSITIONAL]
    kinds = {each.kind for each in given.values()}
    for place, parameter in enumerate(each for each in wanted if each.kind in POSITIONAL):
        if ordered[place : place + 1] != [parameter.name] and inspect.Parameter.VAR_POSITIONAL not in kinds:
            yield f"parameter {place + 1} is not {parameter.name}"
    for parameter in wanted:
        own = given.get(parameter.name)
        if own is None or own.kind is inspect.Parameter.POSITIONAL_ONLY:
            if inspect.Parameter.VAR_KEYWORD not in kinds and parameter.kind not in VARIADIC:
                yield f"{parameter.name} cannot be given by name"
        elif parameter.default is not inspect.Parameter.empty and own.default is inspect.Parameter.empty:
            yield f"{parameter.name} has no default"
    known = {each.name for each in wanted}
    for own in given.values():
        if own.name not in known and own.default is inspect.Parameter.empty and own.kind not in VARIADIC:
            yield f"{own.name} is not given by anyone"
