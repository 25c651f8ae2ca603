"""Pushes and ref updates, and the interface of the push gate that decides on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from accounts.models import User
from repositories.models import Repository

NULL_OBJECT = "0" * 40
"""The object name that git writes for the missing side of an update."""


@dataclass(frozen=True)
class RefUpdate:
    """One line of a push: `ref` goes from object `old` to `new`, in hexadecimal; `NULL_OBJECT` if there is none."""

    old: str
    new: str
    ref: str

    @property
    def creates(self) -> bool:
        """True if the ref is new."""
        return self.old == NULL_OBJECT

    @property
    def deletes(self) -> bool:
        """True if the ref is deleted."""
        return self.new == NULL_OBJECT


@dataclass(frozen=True)
class Push:
    """What `user` pushes to `repository`.

    Until the refs are updated the objects are in quarantine: `GitReader(path, environment)` sees them.
    `site_url` is the address of this site as the client knows it, without a trailing slash.
    """

    repository: Repository
    user: User
    updates: Sequence[RefUpdate]
    site_url: str
    environment: Mapping[str, str] = field(default_factory=dict)


class PushGate(ABC):
    """Decision on a push, and the work after it. Called once per push, in the request's thread.

    Refs, repository size and objects have been checked before. Returned texts and refusals are shown to the pusher.
    """

    @abstractmethod
    def before(self, push: Push) -> str:
        """Decide on the push. Return a message for the pusher ("" for none); raise `Refusal` to reject the push.

        Any other exception is a platform error: it is logged, and the push is rejected without its text.
        """

    @abstractmethod
    def after(self, push: Push) -> str:
        """Act on updated refs. Return a message for the pusher. An exception does not undo the push."""
