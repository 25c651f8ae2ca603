"""Names of people and teams of an archive where the site has the same.

Two people with one name on two sites may be two people, so an import never gives rows of an archive to an account or a
team that is here. A name that is taken, or looks like one that is, gets the first free number: "olga-2", "Owls (2)".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from accounts.models import RESERVED_SLUGS, Team, User
from accounts.name_rules import MAX_CHARACTERS, skeleton

_MOST_USERNAME, _MOST_SLUG = 150, 40


class FreeNames:
    """The names that rows of an archive get; `renamed` has those that are not their own, in words."""

    def __init__(self) -> None:
        self.renamed: list[str] = []
        self.teams: dict[str, tuple[str, str]] = {}
        """The slug and name of each team, by its slug in the archive."""
        self._people: set[str] = set()

    def person(self, username: str) -> str:
        """Return the user name of a new account."""
        free = next(each for each in _numbered(username, "{}-{}", _MOST_USERNAME) if self._is_free(each))
        self._people.add(skeleton(free))
        if free != username:
            self.renamed.append(f"the person {username} is {free} here")
        return free

    def team(self, slug: str, name: str) -> tuple[str, str]:
        """Return slug and name of a new team, which the caller stores before it asks for the next."""
        new = (
            _first(_numbered(slug, "{}-{}", _MOST_SLUG), _slug_is_free),
            _first(_numbered(name, "{} ({})", MAX_CHARACTERS), _name_is_free),
        )
        self.teams[slug] = new
        if new != (slug, name):
            self.renamed.append(f"the team {name} ({slug}) is {new[1]} ({new[0]}) here")
        return new

    def _is_free(self, username: str) -> bool:
        like = skeleton(username)
        taken = User.objects.filter(username__iexact=username) | User.objects.filter(username_skeleton=like)
        return like not in self._people and not taken.exists()


def _first(names: Iterator[str], is_free: Callable[[str], bool]) -> str:
    return next(filter(is_free, names))


def _slug_is_free(slug: str) -> bool:
    taken = Team.objects.filter(slug=slug) | Team.objects.filter(slug_skeleton=skeleton(slug))
    return slug not in RESERVED_SLUGS and not taken.exists()


def _name_is_free(name: str) -> bool:
    return not (Team.objects.filter(name=name) | Team.objects.filter(name_skeleton=skeleton(name))).exists()


def _numbered(name: str, form: str, most: int) -> Iterator[str]:
    """Yield the name, and then the name with numbers, of at most so many characters."""
    yield name
    for number in count(2):
        end = len(form.format("", number))
        yield form.format(name[: most - end].rstrip("-"), number)
