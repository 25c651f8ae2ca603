"""A push as those see it who decide on it, and the door that they build."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from accounts.models import User
from repositories.models import Repository

NOTHING = "0" * 40
"""What git writes for the side of an update that does not exist."""


@dataclass(frozen=True)
class RefUpdate:
    """One line of a push: `ref` goes from object `old` to `new`, both in hexadecimal; `NOTHING` where there is none."""

    old: str
    new: str
    ref: str

    @property
    def creates(self) -> bool:
        """Whether the ref is new."""
        return self.old == NOTHING

    @property
    def deletes(self) -> bool:
        """Whether the ref goes away."""
        return self.new == NOTHING


@dataclass(frozen=True)
class Push:
    """What `user` sends to `repository`.

    Until its refs are updated its objects lie in quarantine: `environment` lets `Reader(path, environment)` see them.
    `site_url` is the address of this site as the client knows it, without a slash at its end.
    """

    repository: Repository
    user: User
    updates: Sequence[RefUpdate]
    site_url: str
    environment: Mapping[str, str] = field(default_factory=dict)


class PushGate(ABC):
    """Decides on pushes, and hears of those that went through. Called once per push, in the request's thread.

    By then refs, repository size and objects have been checked. What is returned or refused is shown to the pusher.
    """

    @abstractmethod
    def before(self, push: Push) -> str:
        """Decide. Returns what to tell the pusher ("" for nothing); raises `Refusal`, and no ref is changed.

        Any other exception is ours: it is logged, and the push is refused without its text.
        """

    @abstractmethod
    def after(self, push: Push) -> str:
        """The refs are updated. Returns what to tell the pusher. Nothing raised here undoes the push."""
