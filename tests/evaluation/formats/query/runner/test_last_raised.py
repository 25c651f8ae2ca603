"""The exception that a player's output ends in, and where in its own files it was raised."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.builder.player_exception import MOST_CHARACTERS, LastException, last_exception

HOME = Path("/srv/checkouts/7-abc")
SDK = "/srv/sdk/0123/gauntlet/model.py"


def traceback(*frames: tuple[str, int], exception: str = "ZeroDivisionError: division by zero") -> str:
    """A traceback as Python 3.11 prints it."""
    lines = ["Traceback (most recent call last):"]
    for file, line in frames:
        lines += [f'  File "{file}", line {line}, in f', "    return 1 / 0", "           ~~^~~"]
    return "\n".join([*lines, exception]) + "\n"


def test_the_last_exception_is_found_with_the_file_and_line_of_the_player() -> None:
    output = "loading\n" + traceback((f"{HOME}/main.py", 30), (SDK, 12), (f"{HOME}/net/layers.py", 7)) + "bye\n"
    assert last_exception(output, HOME) == LastException("ZeroDivisionError: division by zero", "net/layers.py", 7)


def test_a_library_whose_place_on_the_host_is_hidden_is_not_the_player_s() -> None:
    output = traceback(("/code/main.py", 30), ("lib/python3.11/site-packages/x.py", 1))
    assert last_exception(output, Path("/code")) == LastException("ZeroDivisionError: division by zero", "main.py", 30)


def test_it_names_the_player_s_own_line_and_not_the_library_s() -> None:
    frames = ((f"{HOME}/main.py", 30), (f"{HOME}/.venv/lib/python3.11/site-packages/x.py", 1), ("/usr/lib/a.py", 9))
    assert last_exception(traceback(*frames), HOME) == LastException(
        "ZeroDivisionError: division by zero", "main.py", 30
    )


def test_the_last_of_several_counts() -> None:
    chained = traceback((f"{HOME}/a.py", 1), exception="KeyError: 'x'")
    chained += "\nDuring handling of the above exception, another exception occurred:\n\n"
    chained += traceback((f"{HOME}/b.py", 2), exception="own.errors.Bad")
    assert str(last_exception(chained, HOME)) == "own.errors.Bad (b.py, line 2)"


def test_it_reads_a_syntax_error() -> None:
    output = f'  File "{HOME}/main.py", line 3\n    def (\n        ^\nSyntaxError: invalid syntax\n'
    assert str(last_exception(output, HOME)) == "SyntaxError: invalid syntax (main.py, line 3)"


@pytest.mark.parametrize(
    ("file", "shown"),
    [("/submission/net.py", "net.py"), ("/app/net.py", "/app/net.py"), ("./net.py", "net.py")],
)
def test_it_reads_what_an_image_prints(file: str, shown: str) -> None:
    frames = ((file, 4), ("/opt/gauntlet/gauntlet/model.py", 8), ("<string>", 1))
    assert last_exception(traceback(*frames), None) == LastException("ZeroDivisionError: division by zero", shown, 4)


def test_an_exception_in_nothing_of_the_player_s_has_no_place() -> None:
    assert str(last_exception(traceback((SDK, 12)), HOME)) == "ZeroDivisionError: division by zero"


def test_a_long_message_is_cut() -> None:
    found = last_exception(traceback((f"{HOME}/main.py", 1), exception="ValueError: " + "x" * 9000), HOME)
    assert found is not None
    assert len(found.exception) <= MOST_CHARACTERS + 4


@pytest.mark.parametrize("output", ["", "Error: no weights\n", '  File "main.py", line 3\nand so on: it goes\n'])
def test_an_output_without_a_traceback_has_none(output: str) -> None:
    assert last_exception(output, HOME) is None
