"""Queries of objections: who may make one, and who sees which, in a number of queries that does not grow."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import Team, User
from accounts.selectors import teams_of
from competitions.permissions import may
from competitions.pseudonyms import public_name
from core.roles import Right
from rounds.formats import MatchInRound, format_of
from rounds.models import Objection, Round, RoundEntry
from rounds.publishing.pair_visibility import pairs_public


@dataclass(frozen=True)
class ShownObjection:
    """An objection as a reader sees it. `title` says what it concerns.

    `match` is the key of its match, "" if it concerns none, or one that the reader does not see. `players` are the
    public names of the players of the match, the attack first.
    """

    row: Objection
    title: str
    match: str
    players: tuple[str, ...]


def objecting_team(user: User | AnonymousUser, round_: Round) -> Team | None:
    """Return the person's team that took part in the round, None without one."""
    if not user.is_active:
        return None
    return teams_of(user).filter(entry__repositories__submissions__round_entries__round=round_).first()


def match_seen(round_: Round, key: str, user: User | AnonymousUser) -> MatchInRound | None:
    """Return a match of a published round, None where there is none of this key that the person sees."""
    return format_of(round_).find_matches(round_, [key]).get(key) if pairs_public(round_, user) else None


def shown_objections(round_: Round, user: User | AnonymousUser) -> list[ShownObjection]:
    """Return the objections to a round that the person sees, the oldest first.

    Everyone sees those with an answer. A team also sees its own, and organisers see all.
    """
    if may(user, round_.competition, Right.SEE_SECRETS):
        return all_objections(round_)
    seen = Q(state__in=Objection.ANSWERED) | Q(team__in=teams_of(user))
    return _listed(round_, Objection.objects.filter(seen, round=round_), pairs=pairs_public(round_, user))


def all_objections(round_: Round) -> list[ShownObjection]:
    """Return every objection to a round as its organisers see it, the oldest first."""
    return _listed(round_, Objection.objects.filter(round=round_), pairs=True)


def objection_title(row: Objection) -> str:
    """Return what an objection concerns, as organisers see it."""
    return _listed(row.round, Objection.objects.filter(pk=row.pk), pairs=True)[0].title


def entry_title(entry: RoundEntry) -> str:
    """Return the title of an entry of a round with its team and its track."""
    submission = entry.submission
    return f"{submission.title} by {submission.repository.entry.team.name} ({entry.track.title})"


def _listed(round_: Round, rows: QuerySet[Objection], *, pairs: bool) -> list[ShownObjection]:
    related = ("team", "entry__track", "entry__submission__repository__entry__team")
    found = list(rows.select_related(*related).order_by("pk"))
    keys = {row.match for row in found if row.match}
    matches = format_of(round_).find_matches(round_, keys) if keys and pairs else {}
    return [_shown(round_, row, matches.get(row.match)) for row in found]


def _shown(round_: Round, row: Objection, match: MatchInRound | None) -> ShownObjection:
    if match is not None:
        players = tuple(public_name(round_.competition, player.digest) for player in match.players)
        return ShownObjection(row, match.title, row.match, players)
    title = "a match" if row.match else "the whole result" if row.entry is None else entry_title(row.entry)
    return ShownObjection(row, title, "", ())
