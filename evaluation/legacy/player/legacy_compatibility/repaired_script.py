"""`python -m legacy_compatibility.repaired_script SCRIPT ARGUMENTS`: a repaired script, as `__main__`."""

from __future__ import annotations

import os
import sys
import tokenize

from legacy_compatibility.old_sources import repaired


def run() -> None:
    """Run the script that the command line names, with its arguments, as `__main__`."""
    del sys.argv[0]
    script = sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    with tokenize.open(script) as file:
        code = compile(repaired(file.read()), script, "exec", dont_inherit=True)
    names = vars(sys.modules["__main__"])
    names.update({"__file__": script, "__spec__": None, "__package__": None, "__doc__": None})
    exec(code, names)


if __name__ == "__main__":
    run()
