"""The completion of the command in a shell."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from evaluation.cli.completion import SHELLS
from evaluation.cli.main import parser


def completed(script: str, *words: str) -> list[str]:
    """Return what bash proposes for the last of `words`."""
    line = " ".join(words)
    program = f"""{script}
COMP_WORDS=({line}) COMP_CWORD={len(words) - 1} COMP_LINE='{line}' COMP_POINT={len(line)}
function_of_gauntlet=$(complete -p gauntlet | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function_of_gauntlet gauntlet '{words[-1]}' '{words[-2]}'
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_subcommands_options_and_choices(gauntlet: Callable[..., Any]) -> None:
    status, script, _ = gauntlet("completion", "bash")
    assert status == 0
    assert completed(script, "gauntlet", "che") == ["check"]
    assert completed(script, "gauntlet", "ch") == ["check", "choose", "challenge"]
    assert "--competition" in completed(script, "gauntlet", "check", "--comp")
    assert completed(script, "gauntlet", "new", "untar") == ["untargeted"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script(gauntlet: Callable[..., Any], shell: str) -> None:
    status, script, _ = gauntlet("completion", shell)
    assert status == 0
    assert "conformance" in script


def test_it_rejects_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["completion", "csh"])
    assert "did you mean 'tcsh'?" in capsys.readouterr().err
