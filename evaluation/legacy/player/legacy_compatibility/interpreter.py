"""The interpreter of this process as that of the programs it starts."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import Dict, List

_MODULES = Path(__file__).resolve().parent.parent

_CLEVERHANS_3 = re.compile(r"^\s*cleverhans\s*[=~>]=\s*3", re.IGNORECASE | re.MULTILINE)


def interpreter_variables() -> Dict[str, str]:
    """Return PATH and PYTHONPATH with which `python` and `python3` are this interpreter, with the modules here."""
    modules = [str(_MODULES), *_pinned_packages(), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join(modules),
    }


def _pinned_packages() -> List[str]:
    """Return the directory of cleverhans 3 if the program in this folder pins it, as the examples of IJCAI 2019 do.

    Its attacks reject a model that is a function, which programs of 2017 give to those of version 2.
    """
    try:
        with open("requirements.txt", encoding="utf-8", errors="replace") as file:
            pinned = _CLEVERHANS_3.search(file.read())
    except OSError:
        return []
    return [os.path.join(sysconfig.get_path("purelib"), "cleverhans-3")] if pinned else []
