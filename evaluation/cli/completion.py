"""`gauntlet completion`: the script that completes subcommands, options and their choices in a shell."""

from __future__ import annotations

import argparse
from typing import Any

SHELLS = ("bash", "zsh", "fish", "tcsh")


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "completion",
        help="print the script that completes this command in a shell",
        description='For bash, add to ~/.bashrc: eval "$(gauntlet completion bash)". For zsh, write the script to a '
        "file _gauntlet in a directory of $fpath; for fish, to ~/.config/fish/completions/gauntlet.fish.",
    )
    command.add_argument("shell", choices=SHELLS)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(given.parser, given.shell))
    return 0
