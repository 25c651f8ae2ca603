"""Command line of `gauntlet`: it runs one subcommand and turns errors into exit statuses.

Exit status: 0 done, 1 a match that was played again differs from its bundle (`replay`), 2 wrong usage (invalid options,
data or directories), 3 refused (a submission, a match that cannot be replayed, or this host because it lacks a guard;
the message names the cause), 4 internal error, 5 a bundle that is valid but was verified without the organisers' key
(`verify`), 6 a site does not answer or has an error of its own, 130 interrupted.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from evaluation import __version__
from evaluation.cli.output import print_error
from evaluation.cli.site_client import SiteRefusal, UnavailableSiteError
from evaluation.domain.errors import (
    BuildRefusal,
    EngineFault,
    Fault,
    HostRefusal,
    ManifestRefusal,
    Refusal,
    ReplayRefusal,
)

DONE, USAGE, REFUSED, FAULT, UNAVAILABLE, INTERRUPTED = 0, 2, 3, 4, 6, 130

_MODULES = {
    "play": "play",
    "tournament": "tournament",
    "compare": "compare",
    "benchmark": "benchmark",
    "check": "check",
    "new": "new",
    "baselines": "baselines",
    "doctor": "doctor",
    "conformance": "conformance",
    "data": "data",
    "train": "train",
    "simulate": "simulate",
    "demo": "demo",
    "verify": "verify",
    "legacy-environment": "legacy_environment",
    "compatibility": "compatibility",
    "login": "site_login",
    "logout": "site_login",
    "whoami": "site_login",
    "init": "site_init",
    "submit": "site_submit",
    "status": "site_team_commands",
    "quota": "site_team_commands",
    "board": "site_team_commands",
    "withdraw": "site_team_commands",
    "choose": "site_team_commands",
    "logs": "submission_log",
    "matches": "site_matches",
    "pictures": "site_pictures",
    "fetch": "site_fetch",
    "replay": "replay",
    "challenge": "site_challenge",
    "prove": "site_prove",
    "completion": "completion",
}
"""The module of each subcommand, in the order of the help."""

# no garbage collection at exit, an eighth of the time of a short command: the memory is freed with the process
atexit.register(gc.freeze)


class _Parser(argparse.ArgumentParser):
    """A parser that proposes the nearest of its choices for a word that is none of them; so do its subcommands."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        near = get_close_matches(str(value), map(str, action.choices or ()), n=1)
        if near and value not in (action.choices or ()):
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; did you mean {near[0]!r}?")
        super()._check_value(action, value)


def parser(word: str = "") -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of the subcommand `word` alone, which imports less."""
    top = _Parser(
        prog="gauntlet",
        description="Play adversarial attacks against image classifiers, with a referee and scores.",
        epilog="Exit status: 0 done, 1 a replayed match differs, 2 wrong usage, 3 refused, 4 internal error, 5 a valid "
        "bundle without the organisers' key, 6 a site does not answer, 130 interrupted.",
    )
    top.add_argument("--version", action="version", version=f"gauntlet {__version__}")
    subcommands = top.add_subparsers(metavar="COMMAND", required=True)
    # completion prints what all others take
    chosen = [_MODULES[word]] if word in _MODULES and word != "completion" else dict.fromkeys(_MODULES.values())
    for module in chosen:
        import_module(f"evaluation.cli.{module}").add_parser(subcommands)
    if "completion" in subcommands.choices:  # others send their options to processes, and a parser cannot be sent
        subcommands.choices["completion"].set_defaults(parser=top)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `gauntlet` with `arguments` (by default those of the process). Return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    given = parser(*words[:1]).parse_args(words, argparse.Namespace(arguments=words))
    try:
        status: int = given.run(given)
    except (ManifestRefusal, BuildRefusal, HostRefusal, ReplayRefusal, SiteRefusal) as refusal:
        print_error(str(refusal))
        return REFUSED
    except Refusal as refusal:
        print_error(str(refusal))
        return USAGE
    except EngineFault as fault:
        print_error(f"{fault}\n  fix: start the Docker engine, or leave out --sandbox docker")
        return REFUSED
    except Fault as fault:
        print_error(f"internal error: {fault}")
        return FAULT
    except UnavailableSiteError as error:
        print_error(str(error))
        return UNAVAILABLE
    except KeyboardInterrupt:
        print_error("interrupted; all players were ended")
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of the output is gone
        sys.stderr.close()
        return DONE
    except Exception as error:
        from evaluation.cli.missing_packages import refusal_of

        missing = refusal_of(error)
        if missing is not None:
            print_error(str(missing))
            return USAGE
        traceback.print_exc()
        print_error("internal error: this is a bug in Gauntlet; please report the lines above")
        return FAULT
    return status
