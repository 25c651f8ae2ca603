"""Templates of submissions to the tracks of the query format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evaluation.baselines.templates import FRAMEWORKS, GRADIENT_STEPS, LINE_SEARCH, Template
from evaluation.builder.manifest import MANIFEST_NAME

_ATTACK = GRADIENT_STEPS | LINE_SEARCH


@dataclass(frozen=True)
class QueryTemplate(Template):
    """See `Template`."""

    format: ClassVar[str] = "query"
    manifest: ClassVar[str] = MANIFEST_NAME
    programs: ClassVar = {"model": {}, "untargeted": _ATTACK, "targeted": _ATTACK}


def query_templates() -> tuple[QueryTemplate, ...]:
    """Return the templates of models in every framework, and of attacks in those that compute gradients."""
    return tuple(
        QueryTemplate(each.name, track, each)
        for each in FRAMEWORKS.values()
        for track in QueryTemplate.programs
        if each.gradients or track == "model"
    )
