"""Matches and the pieces that they lack, however many at once. Part of the services."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from django.db import transaction
from django.db.models import F, Max

from competitions.models import Entry, RulesVersion, SampleSet, Track
from competitions.rules import query_rules
from core import clock, notify
from matches.models import Match, Piece
from matches.queue import finish_played
from matches.queue_order import held_pieces, uses
from matches.seeds import match_seed
from submissions.models import Player


class _Asked(NamedTuple):
    """What the match of a pair is asked for under: with the pair, its key."""

    rules: RulesVersion
    sample_set: SampleSet
    repetition: int


class _Share(NamedTuple):
    """The columns of a piece that say when it is played."""

    priority: Piece.Priority
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
    priority: Piece.Priority = Piece.Priority.BOARD,
) -> list[Match]:
    """The matches of `pairs` (model, attack), in their order, with pieces for the first `upto` samples at least.

    Pieces end where the rules' size says, at each number of `ends` and at `upto`; what has a piece keeps it, so that
    nothing is played twice. A match that was over and gets pieces is played on, and one that was cancelled is taken up
    again; one that failed waits for its replay, one that is held for being let go. Pieces queue up behind those that
    are asked for within the next `delay`, unless somebody else wants them sooner. They are played on the share of
    `entry`, or on no team's; what waits for another team goes to the one of both that used less of the workers.
    Safe to call at once from anywhere.

    Raises `ValueError` where `upto` is no number of samples of the set, or a pair is none of its competition.
    """
    if not 1 <= upto <= sample_set.count:
        raise ValueError(f"{upto} samples of a set of {sample_set.count}")
    for model, attack in pairs:
        _check_sides(rules, sample_set, model, attack)
    asked = _Asked(rules, sample_set, repetition)
    with transaction.atomic():
        now = clock.database_now()
        matches = _locked_matches(asked, pairs, now)
        cancelled = [match for match in matches.values() if match.state == Match.State.CANCELLED]
        at = now + delay
        _take_up_again(cancelled, at)
        size = query_rules(rules.values, rules.version).piece_samples
        stops = sorted({*range(size, upto, size), *(end for end in ends if 0 < end < upto), upto})
        share = _Share(priority, entry, at)
        _advance([match.pk for match in matches.values()], share, now)
        if _add_pieces(list(matches.values()), stops, share) or cancelled:
            notify.notify("matches.play")
        _end_if_played(cancelled)
    return [matches[model.pk, attack.pk] for model, attack in pairs]


def ensure_match(
    *,
    rules: RulesVersion,
    sample_set: SampleSet,
    model: Player,
    attack: Player,
    delay: timedelta = timedelta(0),
    entry: Entry | None = None,
) -> Match:
    """The match of `attack` against `model` over the whole set, made where it was never asked for before.

    One that is played already is returned as it is: nothing is played twice. Safe to call at once from anywhere.
    """
    (match,) = request_matches(
        rules=rules, sample_set=sample_set, pairs=[(model, attack)], upto=sample_set.count, delay=delay, entry=entry
    )
    return match


def _locked_matches(
    asked: _Asked, pairs: Sequence[tuple[Player, Player]], now: datetime
) -> dict[tuple[int, int], Match]:
    """The match of each pair by the keys of its players, made where it was not there. Locked until all is committed.

    Locked, or who ends a match would miss the pieces that it gets this very moment. Made and locked in one order, so
    that of two callers at once one waits for the other.
    """
    players = {(model.pk, attack.pk): (model, attack) for model, attack in sorted(pairs, key=_keys)}
    known = _known(asked, players)
    if missing := players.keys() - known.keys():
        played = _seeds(asked._replace(repetition=0), missing) if asked.repetition else {}
        Match.objects.bulk_create(
            (_new(asked, *pair, played.get(keys), now) for keys, pair in players.items() if keys in missing),
            ignore_conflicts=True,
        )
        known = _known(asked, players)
    wanted = [known[keys] for keys in players]
    found = {}
    for match in Match.objects.filter(pk__in=wanted).order_by("pk").select_for_update(no_key=True):
        keys = match.model_id, match.attack_id
        match.rules, match.sample_set, (match.model, match.attack) = asked.rules, asked.sample_set, players[keys]
        found[keys] = match
    return found


def _known(asked: _Asked, keys: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    return _of_pairs(asked, keys, "pk")


def _seeds(asked: _Asked, keys: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    return _of_pairs(asked, keys, "seed")


def _of_pairs(asked: _Asked, keys: Iterable[tuple[int, int]], column: str) -> dict[tuple[int, int], int]:
    models, attacks = map(set, zip(*keys, strict=True)) if keys else (set(), set())
    rows = Match.objects.filter(**asked._asdict(), model__in=models, attack__in=attacks)
    return {(model, attack): value for model, attack, value in rows.values_list("model", "attack", column)}


def _new(asked: _Asked, model: Player, attack: Player, seed: int | None, now: datetime) -> Match:
    """A match of the pair; `seed` is that of the match that it plays once more, None where there is none."""
    fresh = match_seed(rules=asked.rules, sample_set=asked.sample_set, model=model, attack=attack)
    return Match(
        **asked._asdict(),
        model=model,
        attack=attack,
        seed=fresh if seed is None else seed,
        needs_gpu=model.gpu or attack.gpu,
        created_at=now,
    )


def _advance(matches: Sequence[int], share: _Share, now: datetime) -> None:
    """Have the pieces of `matches` that wait played sooner, where `share` gives them a better place."""
    waiting = Piece.objects.filter(match__in=matches, state=Piece.State.WAITING)
    waiting.filter(queued_at__gt=share.queued_at).update(queued_at=share.queued_at)
    if share.priority < Piece.Priority.BOARD:
        waiting.filter(priority__gt=share.priority).update(priority=share.priority, entry=share.entry)
    if share.entry is None:
        return
    others = waiting.filter(priority=share.priority, entry__isnull=False).exclude(entry=share.entry)
    owners = set(others.order_by().values_list("entry", flat=True).distinct())
    if owners:
        used = uses([share.entry.pk, *owners], held_pieces(), now)
        others.filter(entry__in=[each for each in owners if used[each].day > used[share.entry.pk].day]).update(
            entry=share.entry
        )


def _add_pieces(matches: Sequence[Match], stops: Sequence[int], share: _Share) -> int:
    """Give each match the pieces that it lacks up to the last stop; how many pieces."""
    rows = Piece.objects.filter(match__in=[match.pk for match in matches]).values("match")
    there = {
        row["match"]: (row["newest"] + 1, row["covered"])
        for row in rows.annotate(newest=Max("number"), covered=Max(F("first") + F("count"))).order_by()
    }
    pieces, over = [], []
    for match in matches:
        number, covered = there.get(match.pk, (0, 0))
        edges = [covered, *(stop for stop in stops if stop > covered)]
        pieces += [
            Piece(match=match, number=number + step, first=first, count=end - first, **share._asdict())
            for step, (first, end) in enumerate(pairwise(edges))
        ]
        if match.state == Match.State.PLAYED and len(edges) > 1:
            match.state, match.audit, match.finished_at = Match.State.PLAYING, {}, None
            over.append(match.pk)
    Piece.objects.bulk_create(pieces)
    Match.objects.filter(pk__in=over).update(state=Match.State.PLAYING, audit={}, finished_at=None)
    return len(pieces)


def _take_up_again(cancelled: Sequence[Match], at: datetime) -> None:
    """Open matches that were cancelled, with what is played of them; what had failed is tried again."""
    keys = [match.pk for match in cancelled]
    Piece.objects.filter(match__in=keys, state=Piece.State.FAILED).update(state=Piece.State.WAITING, faults=0)
    Piece.objects.filter(match__in=keys, state=Piece.State.WAITING).update(queued_at=at)
    begun = Piece.objects.filter(match__in=keys).exclude(state=Piece.State.WAITING).values_list("match", flat=True)
    playing = set(begun)
    for match in cancelled:
        match.state = Match.State.PLAYING if match.pk in playing else Match.State.WAITING
        match.finished_at = None
    Match.objects.bulk_update(cancelled, ["state", "finished_at"])


def _end_if_played(matches: Sequence[Match]) -> None:
    """End those whose last pieces were committed after they had been cancelled."""
    if matches and finish_played(among=[match.pk for match in matches]):
        for match in matches:
            match.refresh_from_db(fields=["state", "audit", "finished_at"])


def _keys(pair: tuple[Player, Player]) -> tuple[int, int]:
    return pair[0].pk, pair[1].pk


def _check_sides(rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player) -> None:
    if model.track_name != Track.Name.MODEL or attack.track_name == Track.Name.MODEL:
        raise ValueError(f"a match needs a model and an attack, not {model.track_name} and {attack.track_name}")
    if len({row.competition_id for row in (rules, sample_set, model, attack)}) > 1:
        raise ValueError("rules, sample set and players are not of one competition")
