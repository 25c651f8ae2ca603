"""Exceptions of the engine.

    GauntletError
    ├── Refusal                 invalid input of a team or of the user of a command; shown to them
    │   ├── ManifestRefusal     submission.toml is missing or wrong
    │   ├── BuildRefusal        the repository cannot be built into a player
    │   │   └── SlowBuildRefusal    the build reached its time limit
    │   ├── BundleRefusal       a line of a result bundle is wrong
    │   ├── DatasetRefusal      files of a data set are missing, corrupt, of the wrong size or unlabelled
    │   ├── HostRefusal         this host lacks a guard that untrusted code requires
    │   └── ReplayRefusal       a match of a released round cannot be played again
    └── Fault                   platform error: retried, refunded, logged at ERROR and sent to the operators
        ├── EngineFault         no Docker engine answers on this host
        ├── ImageFault          the site no longer has the image of a player, so no host can start it
        └── HostFault           this host failed, or lacks files that the site has, in a way that no player can cause

A player that breaks the rules in a match raises no exception: the match still ends with a result, which contains the
`Reason` (see `evaluation.formats.query.results`).
"""

from __future__ import annotations


class GauntletError(Exception):
    """Base class of the engine's exceptions."""


class Refusal(GauntletError):
    """Invalid input; the sender can fix it.

    `problem` is the cause, `fix` says what to do; both are shown to the sender.
    """

    def __init__(self, problem: str, *, fix: str = "") -> None:
        super().__init__(f"{problem}\n  fix: {fix}" if fix else problem)
        self.problem = problem
        self.fix = fix


class ManifestRefusal(Refusal):
    """`submission.toml` is missing or wrong; `run` is its command, where that could be read."""

    def __init__(self, problem: str, *, fix: str = "", run: tuple[str, ...] = ()) -> None:
        super().__init__(problem, fix=fix)
        self.run = run


class BuildRefusal(Refusal):
    """The repository cannot be built into a player."""


class SlowBuildRefusal(BuildRefusal):
    """The build reached its time limit and was stopped."""


class BundleRefusal(Refusal):
    """A line of a result bundle is wrong; `line` is its number, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.cause = problem


class DatasetRefusal(Refusal):
    """Files of a data set are missing, corrupt, of the wrong size or unlabelled."""


class HostRefusal(Refusal):
    """This host lacks a guard that untrusted code requires."""


class ReplayRefusal(Refusal):
    """A match of a released round cannot be played again: something that it needs is not there, or not equal."""


class Fault(GauntletError):
    """Platform error: no player is the cause, and no quota is charged."""


class HostFault(Fault):
    """This host failed, or lacks a file, an image or a guard that the site's hosts have. No player can cause it."""


class ImageFault(Fault):
    """The store of images answers that it lacks the image of a player, or a part of it. No host is the cause."""


class EngineFault(Fault):
    """No Docker engine answers on this host."""


class StoppedError(Exception):
    """What runs was stopped, because nobody needs its result any more: an error of nobody."""
