"""The interpreter of this process as that of the programs it starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Dict

_MODULES = Path(__file__).resolve().parent.parent


def interpreter_variables() -> Dict[str, str]:
    """Return PATH and PYTHONPATH with which `python` and `python3` are this interpreter, with the modules here."""
    modules = [str(_MODULES), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join(modules),
    }
