"""Names of threat models for people."""

from __future__ import annotations

from formats.curves.models import GOALS, KNOWLEDGE, NORMS

_GOALS, _NORMS, _KNOWLEDGE = dict(GOALS), dict(NORMS), dict(KNOWLEDGE)


def goal_name(goal: str) -> str:
    """Return the name of a goal."""
    return _GOALS[str(goal)]


def norm_name(norm: str) -> str:
    """Return the name of a norm."""
    return _NORMS[str(norm)]


def knowledge_name(knowledge: str) -> str:
    """Return what an attack sees, in words."""
    return _KNOWLEDGE[str(knowledge)]
