"""Gauntlet's engine: plays an attack against a model, referees the match and scores it.

Participants import the module `gauntlet`, whose source is `evaluation/sdk/`; this package is for the site and for the
`gauntlet` command.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__"]
