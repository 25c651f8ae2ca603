"""The preview of a round: the pools and places that publishing it would change."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from competitions.models import Track
from competitions.selectors import rules_in_force
from leaderboards.evaluation_basis import pool_in_force
from leaderboards.models import PoolPlace, Standing
from matches.models import Match
from matches.rules import query_rules
from rounds.audit_state import failed_audits
from rounds.decision_text import why
from rounds.models import Decision, Round, RoundEntry
from submissions.models import Player, Submission


@dataclass(frozen=True)
class Moved:
    """An entry's place on the leaderboard and in the round. `rank_before` is None for an entry not on the leaderboard.

    `why` is a sentence on the decision of its last stage. `gone`: "withdrawn", "disqualified", "inconsistent", or
    empty; an entry that is gone does not join the pool. `failed_audits` counts the round's matches in which a model
    failed its audit; `audit_override_reason` says why an organiser keeps it.
    """

    team: str
    title: str
    rank_before: int | None
    place: int | None
    why: str
    gone: str
    failed_audits: int
    audit_override_reason: str

    @property
    def remark(self) -> str:
        """Why it does not join the pool, its failed audits, and their override; empty for most."""
        audit = f"failed its audit in {_matches(self.failed_audits)}" if self.failed_audits else ""
        override = f"audit overridden: {self.audit_override_reason}" if self.audit_override_reason else ""
        return ", ".join(filter(None, [self.gone, audit, override]))


@dataclass(frozen=True)
class Preview:
    """What publishing changes in one track; `pool_after` is empty if the pool stays, as the track had no entries."""

    track: Track
    pool_before: Sequence[Player]
    pool_after: Sequence[Player]
    rows: Sequence[Moved]


def preview(round_: Round) -> list[Preview]:
    """Return what publishing a scored round now would change, by track, in a fixed number of queries."""
    rules = rules_in_force(round_.competition)
    most = query_rules(rules).opponents
    entries = list(
        round_.entries.filter(place__isnull=False)
        .select_related("track", "player", "submission__repository__entry__team")
        .order_by("place", "order")
    )
    standing = Standing.objects.filter(track__competition=round_.competition_id)
    ranks = {(track, entry): rank for track, entry, rank in standing.values_list("track", "entry", "rank") if rank}
    words, unmet = reasons_of(round_)
    failed = Counter(match.model_id for match in failed_audits(Match.objects.filter(round_match__round=round_)))
    tracks = list(round_.competition.tracks.all())
    pools = {track.pk: _pool(track) for track in tracks}
    left = players_gone([player for pool in pools.values() for player in pool])
    views = []
    for track in tracks:
        own = [entry for entry in entries if entry.track_id == track.pk]
        before = pools[track.pk]
        rows = [_moved(entry, ranks, words, failed) for entry in own]
        stays = [player for player in before if player.pk not in left]
        gone = {entry.pk for entry in own if gone_of(entry)}
        views.append(Preview(track, before, pool_after(own, stays, gone, unmet)[:most], rows))
    return views


def preview_digest(round_: Round, views: Sequence[Preview]) -> str:
    """Return a digest of what the preview promises: the outcome, the pools, and the marks of entries.

    Leaderboard ranks are not part of it: they change while the preview is open, and publishing does not set them.
    """
    promised = [
        [
            view.track.name,
            [player.digest for player in view.pool_before],
            [player.digest for player in view.pool_after],
            [[row.place, row.gone, row.failed_audits, row.audit_override_reason] for row in view.rows],
        ]
        for view in views
    ]
    return hashlib.sha256(json.dumps([round_.outcome, promised]).encode()).hexdigest()


def pool_sentences(views: Sequence[Preview]) -> list[str]:
    """Return a sentence on the new pool of each track, best player first."""
    return [
        f"Pool of the {view.track.name} track: {', '.join(player.title for player in view.pool_after)}."
        for view in views
        if view.pool_after
    ]


def audit_notes(views: Sequence[Preview]) -> list[str]:
    """Return a sentence for each ranked entry whose model failed its audit without an override, best place first."""
    return [
        f"{row.title} of {row.team}, place {row.place}, failed its audit in {_matches(row.failed_audits)}: "
        "disqualify it before you publish, or override the audit."
        for view in views
        for row in view.rows
        if row.failed_audits and not row.gone and not row.audit_override_reason
    ]


def _matches(number: int) -> str:
    return "one match" if number == 1 else f"{number} matches"


def _pool(track: Track) -> list[Player]:
    pool = pool_in_force(track)
    return [place.player for place in PoolPlace.objects.filter(pool=pool).select_related("player")] if pool else []


def players_gone(players: Sequence[Player]) -> set[int]:
    """Return the keys of the submitted players whose submissions are all disqualified or withdrawn."""
    standing = Submission.objects.filter(disqualified_at=None).exclude(state=Submission.State.WITHDRAWN)
    sent = Player.objects.filter(pk__in=[player.pk for player in players], baseline="", submissions__isnull=False)
    return set(sent.exclude(submissions__in=standing).values_list("pk", flat=True))


def pool_after(
    entries: Sequence[RoundEntry],
    before: Sequence[Player],
    gone: Container[int],
    unmet: Container[tuple[int, int]],
) -> list[Player]:
    """Return the candidates for the pool of a track, in order: the best entries that are not `gone`, then the pool
    `before`; none without entries, as the pool then stays.

    Players in `unmet` had only opponents of their own teams, have shown nothing, and come last.
    """
    remaining = {entry.player_id: entry.player for entry in entries if entry.pk not in gone}
    left = {entry.player_id for entry in entries} - remaining.keys()
    last = {entry.player_id for entry in entries if (entry.track_id, entry.player_id) in unmet}
    chosen = {key: player for key, player in remaining.items() if key not in last}
    filled = chosen | {player.pk: player for player in before if player.pk not in chosen.keys() | left} | remaining
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
        gone=gone_of(entry),
        failed_audits=failed.get(entry.player_id, 0),
        audit_override_reason=entry.audit_override_reason,
    )


def gone_of(entry: RoundEntry) -> str:
    """Return "withdrawn", "disqualified", "inconsistent" (it left because its audits failed), or "" for most."""
    if entry.submission.disqualified_at:
        return "disqualified"
    if entry.submission.state == Submission.State.WITHDRAWN:
        return "withdrawn"
    return "inconsistent" if entry.inconsistent else ""


def reasons_of(round_: Round) -> tuple[dict[tuple[int, int], str], set[tuple[int, int]]]:
    """Return the sentence on each player's last stage, by track and player, and the players without an opponent in it.

    A model's are those of the first bracket, unless it left the other one as inconsistent.
    """
    reasons: dict[tuple[int, int], str] = {}
    met: dict[tuple[int, int], bool] = {}
    made = Decision.objects.filter(stage__round=round_).select_related("stage", "track")
    for line in made.order_by("-stage__bracket", "stage__number"):
        targeted = line.track.name == Track.Name.MODEL and line.stage.bracket == Track.Name.TARGETED
        if targeted and not line.inconsistent:
            continue
        met[line.track_id, line.player_id] = line.value is not None
        reasons[line.track_id, line.player_id] = why(line.stage, line)
    return reasons, {key for key, has_met in met.items() if not has_met}
