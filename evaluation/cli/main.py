"""Reads the command line, runs one subcommand, turns errors into exit statuses.

Exit status: 0 done, 2 wrong usage (options, data or places that cannot be used), 3 refused (a submission, or this host
for want of a guard; the cause is named), 4 our fault, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

from evaluation import __version__
from evaluation.cli import baselines, check, conformance, demo, doctor, new, play, simulate, tournament, train, verify
from evaluation.cli.output import complain
from evaluation.domain.errors import BuildRefusal, Fault, HostRefusal, ManifestRefusal, Refusal

DONE, USAGE, REFUSED, FAULT, INTERRUPTED = 0, 2, 3, 4, 130

_COMMANDS = (play, tournament, check, new, baselines, doctor, conformance, train, simulate, demo, verify)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="gauntlet", description="Play adversarial attacks against image classifiers, refereed and scored."
    )
    top.add_argument("--version", action="version", version=f"gauntlet {__version__}")
    subcommands = top.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(subcommands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `gauntlet` with `arguments` (the process's own by default); the exit status."""
    given = parser().parse_args(arguments)
    try:
        status: int = given.run(given)
    except (ManifestRefusal, BuildRefusal, HostRefusal) as refusal:
        complain(str(refusal))
        return REFUSED
    except Refusal as refusal:
        complain(str(refusal))
        return USAGE
    except Fault as fault:
        complain(f"our fault: {fault}")
        return FAULT
    except KeyboardInterrupt:
        complain("interrupted; every player was ended")
        return INTERRUPTED
    except BrokenPipeError:
        # whoever read our output has gone; nobody is left to complain to
        sys.stderr.close()
        return DONE
    except Exception:
        traceback.print_exc()
        complain("our fault: this is a bug in Gauntlet, please report the lines above")
        return FAULT
    return status
