"""Sources as Python 2 read them: tabs and spaces, and a licence in a string before the docstring."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

from evaluation.legacy.player_modules import SOURCE
from legacy_compatibility.old_sources import reads_old_sources, with_spaces
from legacy_compatibility.started_script import script_place

MIXED = b"def f(x):\n    if x:\n\treturn 'a\tb'\n    return None\n"


def run(source: bytes) -> dict[str, Any]:
    loader: Any = SourceFileLoader("net", "net.py")
    names: dict[str, Any] = {}
    exec(reads_old_sources(SourceFileLoader.source_to_code)(loader, source, "net.py"), names)  # noqa: S102 - it is a loader
    return names


def test_a_source_that_mixes_tabs_and_spaces_runs() -> None:
    with pytest.raises(TabError):
        compile(MIXED, "net.py", "exec")
    assert run(MIXED)["f"](1) == "a\tb"


def test_a_tab_ends_at_the_next_eighth_column() -> None:
    assert with_spaces("  \tx\n\t y\tz") == "        x\n         y\tz"


def test_other_errors_are_still_errors() -> None:
    with pytest.raises(SyntaxError, match="print"):
        run(b"print 'x'")


LICENCE = b'"""MIT"""\n"""A net."""\nfrom __future__ import division\nhalf = 1 / 2\n'


def test_a_licence_stands_before_the_docstring() -> None:
    with pytest.raises(SyntaxError, match="__future__"):
        compile(LICENCE, "net.py", "exec")
    assert run(LICENCE)["half"] == 0.5


SCRIPT = """import sys
from beside import name
def main(_=None):
    if name:
\tprint(name, sys.argv, __name__, __file__)
    return 3
if __name__ == '__main__':
    sys.exit(sys.modules['__main__'].main())
"""


@pytest.mark.parametrize(("head", "options"), [("", ()), (LICENCE.decode(), ("-u", "-W", "ignore"))])
def test_a_script_that_python_starts_is_read_so_too(tmp_path: Path, head: str, options: tuple[str, ...]) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "attack.py").write_text(head + SCRIPT)
    (tmp_path / "code" / "beside.py").write_text("name = 'beside'")
    started = subprocess.run(
        [sys.executable, *options, "code/attack.py", "--max_epsilon=4", "-m"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(SOURCE)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (started.returncode, started.stderr) == (3, "")
    assert started.stdout == "beside ['code/attack.py', '--max_epsilon=4', '-m'] __main__ code/attack.py\n"


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python -u attack.py -c", "attack.py"),
        ("python -X dev -Wignore ./attack.py", "./attack.py"),
        ("python -m attack", None),
        ("python -uc pass", None),
        ("python -c attack.py", None),
        ("python - attack.py", None),
        ("python", None),
    ],
)
def test_the_script_of_a_command_line(command: str, script: str | None) -> None:
    words = command.split()
    place = script_place(words)
    assert script == (None if place is None else words[place])
