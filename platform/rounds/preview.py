"""What publishing a round would change: the pools, and who stands where and why. Part of the selectors."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from competitions.models import Track
from competitions.rules import query_rules
from competitions.selectors import rules_in_force
from leaderboards.models import PoolPlace, Standing
from leaderboards.selectors import pool_in_force
from matches.models import Match
from rounds.audit_state import failed_audits
from rounds.decision_text import why
from rounds.models import Decision, Round, RoundEntry
from submissions.models import Player, Submission


@dataclass(frozen=True)
class Moved:
    """An entry as the board has it and as the round does. `rank_before` is None for who is not on the board.

    `why` is one sentence on what the last stage that it played decided. `gone`: "withdrawn", "disqualified",
    "inconsistent", or nothing; who is gone comes into no pool. `unfit` counts the round's matches in which a model did
    not pass its audit; `kept` says why an organiser lets it stand.
    """

    team: str
    title: str
    rank_before: int | None
    place: int | None
    why: str
    gone: str
    unfit: int
    kept: str

    @property
    def remark(self) -> str:
        """Why it comes into no pool, that it did not pass its audit, and why it stands; empty for most."""
        audit = f"did not pass its audit in {_matches(self.unfit)}" if self.unfit else ""
        return ", ".join(filter(None, [self.gone, audit, f"kept: {self.kept}" if self.kept else ""]))


@dataclass(frozen=True)
class Preview:
    """What publishing changes in one track; `pool_after` is empty where the pool stays, as nobody played."""

    track: Track
    pool_before: Sequence[Player]
    pool_after: Sequence[Player]
    rows: Sequence[Moved]


def preview(round_: Round) -> list[Preview]:
    """What publishing a scored round now would change, by track, in a number of queries that does not grow."""
    rules = rules_in_force(round_.competition)
    most = query_rules(rules.values, rules.version).opponents
    entries = list(
        round_.entries.filter(place__isnull=False)
        .select_related("track", "player", "submission__repository__entry__team")
        .order_by("place", "order")
    )
    standing = Standing.objects.filter(track__competition=round_.competition_id)
    ranks = {(track, entry): rank for track, entry, rank in standing.values_list("track", "entry", "rank") if rank}
    (words, unmet), failed = reasons_of(round_), _failed_audits(round_)
    tracks = list(round_.competition.tracks.all())
    pools = {track.pk: _pool(track) for track in tracks}
    left = _left([player for pool in pools.values() for player in pool])
    views = []
    for track in tracks:
        own = [entry for entry in entries if entry.track_id == track.pk]
        before = pools[track.pk]
        rows = [_moved(entry, ranks, words, failed) for entry in own]
        stays = [player for player in before if player.pk not in left]
        gone = {entry.pk for entry in own if _gone(entry)}
        views.append(Preview(track, before, pool_after(own, stays, gone, unmet)[:most], rows))
    return views


def preview_digest(round_: Round, views: Sequence[Preview]) -> str:
    """What publishing the round promises by its preview, as a digest: the outcome, the pools, and who is marked how.

    Ranks on the boards are no part of it: they go on while the preview is looked at, and publishing does not set them.
    """
    promised = [
        [
            view.track.name,
            [player.digest for player in view.pool_before],
            [player.digest for player in view.pool_after],
            [[row.place, row.gone, row.unfit, row.kept] for row in view.rows],
        ]
        for view in views
    ]
    return hashlib.sha256(json.dumps([round_.outcome, promised]).encode()).hexdigest()


def pools_in_words(views: Sequence[Preview]) -> list[str]:
    """A sentence on the pool of each track that publishing makes, best first."""
    return [
        f"Pool of the {view.track.name} track: {', '.join(player.title for player in view.pool_after)}."
        for view in views
        if view.pool_after
    ]


def unfit(views: Sequence[Preview]) -> list[str]:
    """A sentence for each entry that would stand although its model did not pass its audit, best place first."""
    return [
        f"{row.title} of {row.team}, place {row.place}, did not pass its audit in {_matches(row.unfit)}: "
        "disqualify it before you apply, or let it stand."
        for view in views
        for row in view.rows
        if row.unfit and not row.gone and not row.kept
    ]


def _matches(number: int) -> str:
    return "one match" if number == 1 else f"{number} matches"


def _pool(track: Track) -> list[Player]:
    pool = pool_in_force(track)
    return [place.player for place in PoolPlace.objects.filter(pool=pool).select_related("player")] if pool else []


def _left(players: Sequence[Player]) -> set[int]:
    """Those of `players` that teams sent, and of which every submission is disqualified or withdrawn."""
    standing = Submission.objects.filter(disqualified_at=None).exclude(state=Submission.State.WITHDRAWN)
    sent = Player.objects.filter(pk__in=[player.pk for player in players], baseline="", submissions__isnull=False)
    return set(sent.exclude(submissions__in=standing).values_list("pk", flat=True))


def pool_after(
    entries: Sequence[RoundEntry],
    before: Sequence[Player],
    gone: Container[int],
    unmet: Container[tuple[int, int]],
) -> list[Player]:
    """Who comes into the pool of a track, in this order, for as many as the rules allow: the best entries that are not
    `gone`, then those of the pool `before`; without entries nobody, as the pool stays.

    `unmet`: who met nobody, as all others were of its own teams, has shown nothing and comes after all of them.
    """
    there = {entry.player_id: entry.player for entry in entries if entry.pk not in gone}
    left = {entry.player_id for entry in entries} - there.keys()
    last = {entry.player_id for entry in entries if (entry.track_id, entry.player_id) in unmet}
    chosen = {key: player for key, player in there.items() if key not in last}
    filled = chosen | {player.pk: player for player in before if player.pk not in chosen.keys() | left} | there
    return list(filled.values()) if entries else []


def _moved(
    entry: RoundEntry,
    ranks: Mapping[tuple[int, int], int],
    words: Mapping[tuple[int, int], str],
    failed: Mapping[int, int],
) -> Moved:
    repository = entry.submission.repository
    return Moved(
        team=repository.entry.team.name,
        title=entry.submission.title,
        rank_before=ranks.get((entry.track_id, repository.entry_id)),
        place=entry.place,
        why=words.get((entry.track_id, entry.player_id), ""),
        gone=_gone(entry),
        unfit=failed.get(entry.player_id, 0),
        kept=entry.audit_override_reason,
    )


def _gone(entry: RoundEntry) -> str:
    if entry.submission.disqualified_at:
        return "disqualified"
    if entry.submission.state == Submission.State.WITHDRAWN:
        return "withdrawn"
    return "inconsistent" if entry.inconsistent else ""


def _failed_audits(round_: Round) -> dict[int, int]:
    return Counter(match.model_id for match in failed_audits(Match.objects.filter(round_match__round=round_)))


def reasons_of(round_: Round) -> tuple[dict[tuple[int, int], str], set[tuple[int, int]]]:
    """The sentence on each player's last stage, by track and player, and who met nobody in it.

    A model's are those of the first bracket, unless it left the other one as inconsistent.
    """
    reasons, met = {}, {}
    made = Decision.objects.filter(stage__round=round_).select_related("stage", "track")
    for line in made.order_by("-stage__bracket", "stage__number"):
        targeted = line.track.name == Track.Name.MODEL and line.stage.bracket == Track.Name.TARGETED
        if targeted and not line.inconsistent:
            continue
        met[line.track_id, line.player_id] = line.value is not None
        reasons[line.track_id, line.player_id] = why(line.stage, line)
    return reasons, {key for key, somebody in met.items() if not somebody}
