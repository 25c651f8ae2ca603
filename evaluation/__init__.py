"""Gauntlet's engine: plays an attack against a model, referees the match and scores it.

Participants import `evaluation.sdk`; everything else is for the site and for the `gauntlet` command.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__"]
