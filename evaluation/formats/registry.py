"""The formats of the engine."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from evaluation.baselines.bundled import BundledRepository, named
from evaluation.baselines.templates import FRAMEWORKS, Template
from evaluation.bundle.canonical_json import MOST_LINE_BYTES
from evaluation.domain.errors import ManifestRefusal, Refusal
from evaluation.formats.base import EngineFormat
from evaluation.formats.curves.bundle import NAME as CURVES
from evaluation.formats.query.format import Query
from evaluation.formats.transfer.format import Transfer

formats: tuple[EngineFormat, ...] = (Query(), Transfer())
"""All formats. The first is meant where a command, a repository or a bundle names none."""

BUNDLE_FORMATS = (*(each.name for each in formats), CURVES)
"""Formats with bundles. Those of the curves format come from sites alone: no command plays its rounds."""

_MOST_SHOWN = 40
"""Characters of an unknown name that an error quotes."""


def format_called(name: str) -> EngineFormat:
    """Return the format with this name. Raise `KeyError` if there is none."""
    return {each.name: each for each in formats}[name]


def all_bundled() -> tuple[BundledRepository, ...]:
    """Return all bundled submissions, by format. No two have the same name."""
    return tuple(bundled for each in formats for bundled in each.bundled())


def find_bundled(name: str) -> BundledRepository:
    """Return the bundled submission `name`. Raise `Refusal` if there is none."""
    return named(all_bundled(), name)


def find_template(framework: str, track: str) -> Template:
    """Return the template of a track in a framework. Raise `Refusal` if there is none."""
    found = [template for each in formats for template in each.templates() if template.track == track]
    chosen = next((template for template in found if template.framework.name == framework), None)
    if chosen is None:
        raise Refusal(
            f"there is no template for {FRAMEWORKS[framework].title} of the {track} track: its program needs gradients",
            fix=f"choose --template {', '.join(template.framework.name for template in found)}",
        )
    return chosen


def format_of_repository(directory: Path) -> EngineFormat:
    """Return the first format that has a manifest in `directory`, or the first of all."""
    return next((each for each in formats if _manifest_in(directory, each)), formats[0])


def format_of_bundle(bundle: IO[bytes]) -> str:
    """Return the name of the format in the head of a bundle, or of the first, whose bundles name none.

    `bundle` is an open file, which is read from its start again afterwards. Raise `Refusal` for a name that this engine
    does not know.
    """
    head = _object(bundle.readline(MOST_LINE_BYTES))
    for before in ("signature", "parts"):  # of a bundle in parts
        if head.get("kind") == before:
            head = _object(bundle.readline(MOST_LINE_BYTES))
    bundle.seek(0)
    found = head.get("format")
    if not isinstance(found, str):
        return formats[0].name
    if found not in BUNDLE_FORMATS:
        known = ", ".join(BUNDLE_FORMATS)
        problem = f"the bundle is of the format {found[:_MOST_SHOWN]!r}, and this version of gauntlet knows: {known}"
        raise Refusal(problem, fix="verify it with the version of gauntlet that the organisers name")
    return found


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def require_format(directories: Iterable[Path], name: str) -> None:
    """Raise `ManifestRefusal` for a submission that is of other formats than the named one."""
    own = format_called(name)
    for directory in directories:
        if _manifest_in(directory, own):
            continue
        for other in formats:
            if found := _manifest_in(directory, other):
                raise ManifestRefusal(
                    f"{directory.resolve().name} is of the {other.name} format: it has a {found}",
                    fix=f"play it with --format {other.name}",
                )


def _manifest_in(directory: Path, each: EngineFormat) -> str:
    return next((name for name in each.manifests if (directory / name).exists()), "")
