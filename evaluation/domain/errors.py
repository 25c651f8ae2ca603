"""The one exception tree of the engine.

    GauntletError
    ├── Refusal                 the cause lies with who sent it: a team, or whoever typed the command; shown to them
    │   ├── ManifestRefusal     submission.toml is missing or wrong
    │   ├── BuildRefusal        the repository does not become a player
    │   │   └── SlowBuildRefusal    it would have taken longer than is allowed
    │   ├── BundleRefusal       a line of a result bundle is wrong
    │   ├── DatasetRefusal      files of a data set are missing, corrupt, mis-sized or unlabelled
    │   └── HostRefusal         this host lacks a guard that untrusted code needs
    └── Fault                   the cause lies with us: retried, refunded, paged
        └── HostFault           this host certainly failed while it ran a player, and no player can bring that about

A player that breaks the rules while it plays is not an exception of the engine: its match still ends with a
result, and the result carries the `Reason` (see `evaluation.domain.results`).
"""

from __future__ import annotations


class GauntletError(Exception):
    """Whatever the engine raises on purpose."""


class Refusal(GauntletError):
    """Something was refused and it can be mended by who sent it.

    `problem` says what is wrong, `fix` what to do about it; both are shown to the sender.
    """

    def __init__(self, problem: str, *, fix: str = "") -> None:
        super().__init__(f"{problem}\n  fix: {fix}" if fix else problem)
        self.problem = problem
        self.fix = fix


class ManifestRefusal(Refusal):
    """`submission.toml` is missing or wrong."""


class BuildRefusal(Refusal):
    """The repository does not become a player."""


class SlowBuildRefusal(BuildRefusal):
    """The build was stopped at its time limit."""


class BundleRefusal(Refusal):
    """A line of a result bundle is wrong; `line` is its number, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.cause = problem


class DatasetRefusal(Refusal):
    """Files of a data set are missing, corrupt, mis-sized or unlabelled."""


class HostRefusal(Refusal):
    """This host lacks a guard that untrusted code needs."""


class Fault(GauntletError):
    """Something of ours failed; no player is to blame and nothing is charged."""


class HostFault(Fault):
    """This host certainly failed while it ran a player, in a way that no player can bring about."""
