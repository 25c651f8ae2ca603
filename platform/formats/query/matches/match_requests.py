"""Creation of matches, and of the pieces that they lack, for many pairs in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from django.db import transaction
from django.db.models import F, Max

from competitions.models import Entry, RulesVersion, SampleSet
from core import clock, worker_notifications
from evaluation.formats.query.rules import QueryRules
from formats.query.matches.match_seeds import match_seed
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_queue import finish_played
from formats.query.tracks import MODEL
from submissions.models import Player
from workers.models import Priority
from workers.team_queue_order import uses


class _Request(NamedTuple):
    """The key of a requested match, together with its pair of players."""

    rules: RulesVersion
    sample_set: SampleSet
    repetition: int


class _Share(NamedTuple):
    """The columns of a piece that decide when it is played."""

    priority: Priority
    entry: Entry | None
    queued_at: datetime


def request_matches(
    *,
    rules: RulesVersion,
    sample_set: SampleSet,
    pairs: Sequence[tuple[Player, Player]],
    upto: int,
    ends: Sequence[int] = (),
    repetition: int = 0,
    delay: timedelta = timedelta(0),
    entry: Entry | None = None,
    priority: Priority = Priority.BOARD,
) -> list[Match]:
    """Return the matches of `pairs` (model, attack), in order, with pieces for at least the first `upto` samples.

    Pieces end at multiples of the rules' piece size, at each number of `ends` and at `upto`. Existing pieces stay, so
    that nothing is played twice. A finished match that gets pieces is played on, and a cancelled one is opened again;
    a failed one waits for its replay, a suspended one until it is resumed.

    Pieces wait behind those that are requested within the next `delay`, unless another request needs them sooner. They
    use the share of `entry`, or of no team; what already waits for another team goes to the one that used less of the
    workers. Safe under concurrent calls.

    Raise `ValueError` if the set has no `upto` samples, or a pair does not fit or belongs to another competition.
    """
    if not 1 <= upto <= sample_set.count:
        raise ValueError(f"{upto} samples of a set of {sample_set.count}")
    for model, attack in pairs:
        _check_sides(rules, sample_set, model, attack)
    request = _Request(rules, sample_set, repetition)
    with transaction.atomic():
        now = clock.database_now()
        matches = _locked_matches(request, pairs, now)
        cancelled = [match for match in matches.values() if match.state == Match.State.CANCELLED]
        at = now + delay
        _reopen(cancelled, at)
        size = rules.rules_as(QueryRules).piece_samples
        stops = sorted({*range(size, upto, size), *(end for end in ends if 0 < end < upto), upto})
        share = _Share(priority, entry, at)
        _move_up([match.pk for match in matches.values()], share, now)
        if _add_pieces(list(matches.values()), stops, share) or cancelled:
            worker_notifications.notify("workers.play")
        _finish_if_played(cancelled)
    return [matches[model.pk, attack.pk] for model, attack in pairs]


def _locked_matches(
    request: _Request, pairs: Sequence[tuple[Player, Player]], now: datetime
) -> dict[tuple[int, int], Match]:
    """Return the match of each pair by the keys of its players, created if missing, locked until the commit.

    Locked: otherwise a call that finishes a match misses the pieces that it gets concurrently. Created and locked in
    one order, so that concurrent callers wait for each other.
    """
    by_keys = {(model.pk, attack.pk): (model, attack) for model, attack in pairs}
    players = {keys: by_keys[keys] for keys in sorted(by_keys)}
    known = _known(request, players)
    if missing := players.keys() - known.keys():
        played = _of_pairs(request._replace(repetition=0), missing, "seed") if request.repetition else {}
        Match.objects.bulk_create(
            (_new(request, *pair, played.get(keys), now) for keys, pair in players.items() if keys in missing),
            ignore_conflicts=True,
        )
        known = _known(request, players)
    requested = [known[keys] for keys in players]
    found = {}
    for match in Match.objects.filter(pk__in=requested).order_by("pk").select_for_update(no_key=True):
        keys = match.model_id, match.attack_id
        match.rules, match.sample_set, (match.model, match.attack) = request.rules, request.sample_set, players[keys]
        found[keys] = match
    return found


def _known(request: _Request, keys: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    return _of_pairs(request, keys, "pk")


def _of_pairs(request: _Request, keys: Iterable[tuple[int, int]], column: str) -> dict[tuple[int, int], int]:
    models, attacks = map(set, zip(*keys, strict=True)) if keys else (set(), set())
    rows = Match.objects.filter(**request._asdict(), model__in=models, attack__in=attacks)
    return {(model, attack): value for model, attack, value in rows.values_list("model", "attack", column)}


def _new(request: _Request, model: Player, attack: Player, seed: int | None, now: datetime) -> Match:
    """Return a new match of the pair; `seed` is that of the match that it repeats, None if there is none."""
    fresh = match_seed(rules=request.rules, sample_set=request.sample_set, model=model, attack=attack)
    return Match(
        **request._asdict(),
        model=model,
        attack=attack,
        seed=fresh if seed is None else seed,
        needs_gpu=model.gpu or attack.gpu,
        created_at=now,
    )


def _move_up(matches: Sequence[int], share: _Share, now: datetime) -> None:
    """Play the waiting pieces of `matches` sooner if `share` gives them a better place."""
    waiting = Piece.objects.filter(match__in=matches, state=Piece.State.WAITING)
    waiting.filter(queued_at__gt=share.queued_at).update(queued_at=share.queued_at)
    if share.priority < Priority.BOARD:
        waiting.filter(priority__gt=share.priority).update(priority=share.priority, entry=share.entry)
    if share.entry is None:
        return
    others = waiting.filter(priority=share.priority, entry__isnull=False).exclude(entry=share.entry)
    owners = set(others.order_by().values_list("entry", flat=True).distinct())
    if owners:
        used = uses([share.entry.pk, *owners], now)
        others.filter(entry__in=[each for each in owners if used[each].day > used[share.entry.pk].day]).update(
            entry=share.entry
        )


def _add_pieces(matches: Sequence[Match], stops: Sequence[int], share: _Share) -> int:
    """Create the pieces that each match lacks up to the last stop; return how many."""
    rows = Piece.objects.filter(match__in=[match.pk for match in matches]).values("match")
    existing = {
        row["match"]: (row["newest"] + 1, row["covered"])
        for row in rows.annotate(newest=Max("number"), covered=Max(F("first") + F("count"))).order_by()
    }
    pieces, reopened = [], []
    for match in matches:
        number, covered = existing.get(match.pk, (0, 0))
        edges = [covered, *(stop for stop in stops if stop > covered)]
        pieces += [
            Piece(match=match, number=number + step, first=first, count=end - first, **share._asdict())
            for step, (first, end) in enumerate(pairwise(edges))
        ]
        if match.state in (Match.State.PLAYED, Match.State.AUDIT) and len(edges) > 1:
            match.state, match.audit, match.finished_at = Match.State.PLAYING, {}, None
            reopened.append(match.pk)
    Piece.objects.bulk_create(pieces)
    Match.objects.filter(pk__in=reopened).update(state=Match.State.PLAYING, audit={}, finished_at=None)
    return len(pieces)


def _reopen(cancelled: Sequence[Match], at: datetime) -> None:
    """Open cancelled matches again, with their played pieces; failed pieces are tried again."""
    keys = [match.pk for match in cancelled]
    Piece.objects.filter(match__in=keys, state=Piece.State.FAILED).update(state=Piece.State.WAITING, **Piece.NO_FAULTS)
    Piece.objects.filter(match__in=keys, state=Piece.State.WAITING).update(queued_at=at)
    begun = Piece.objects.filter(match__in=keys).exclude(state=Piece.State.WAITING).values_list("match", flat=True)
    playing = set(begun)
    for match in cancelled:
        match.state = Match.State.PLAYING if match.pk in playing else Match.State.WAITING
        match.finished_at = None
    Match.objects.bulk_update(cancelled, ["state", "finished_at"])


def _finish_if_played(matches: Sequence[Match]) -> None:
    """Finish matches whose last pieces were committed after they had been cancelled."""
    if matches and finish_played(among=[match.pk for match in matches]):
        for match in matches:
            match.refresh_from_db(fields=["state", "audit", "finished_at"])


def _check_sides(rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player) -> None:
    if model.track_name != MODEL or attack.track_name == MODEL:
        raise ValueError(f"a match needs a model and an attack, not {model.track_name} and {attack.track_name}")
    if len({row.competition_id for row in (rules, sample_set, model, attack)}) > 1:
        raise ValueError("rules, sample set and players belong to different competitions")
