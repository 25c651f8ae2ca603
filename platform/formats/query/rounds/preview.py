"""The preview of a round of the query format: the pools and places that publishing it would change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence

from competitions.models import Track
from competitions.selectors import rules_in_force
from evaluation.formats.query.rules import QueryRules
from formats.query.leaderboards.evaluation_basis import pool_in_force
from formats.query.leaderboards.models import PoolPlace, Standing
from formats.query.matches.models import Match
from formats.query.rounds.decision_text import why
from formats.query.rounds.models import Decision
from formats.query.rounds.round_audits import failed_audits
from formats.query.tracks import MODEL, TARGETED
from rounds.models import Round, RoundEntry
from rounds.publishing.preview import Moved, Preview, gone_of, ranked_entries
from submissions.models import Player, Submission


def preview(round_: Round) -> list[Preview]:
    """Return what publishing a scored round now would change, by track, in a fixed number of queries."""
    rules = rules_in_force(round_.competition)
    most = rules.rules_as(QueryRules).opponents
    entries = ranked_entries(round_)
    standing = Standing.objects.filter(track__competition=round_.competition_id)
    ranks = {(track, entry): rank for track, entry, rank in standing.values_list("track", "entry", "rank") if rank}
    words, unmet = reasons_of(round_)
    weak = weak_models(round_)
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
        views.append(Preview(track, rows, before, pool_after(own, stays, gone, unmet, weak)[:most]))
    return views


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
    weak: Container[int] = (),
) -> list[Player]:
    """Return the candidates for the pool of a track, in order: the best entries that are not `gone`, then the pool
    `before`; none without entries, as the pool then stays.

    Players in `unmet` had only opponents of their own teams, have shown nothing, and come last. Players in `weak` are
    left out where others remain.
    """
    remaining = {entry.player_id: entry.player for entry in entries if entry.pk not in gone}
    left = {entry.player_id for entry in entries} - remaining.keys()
    last = {entry.player_id for entry in entries if (entry.track_id, entry.player_id) in unmet}
    chosen = {key: player for key, player in remaining.items() if key not in last}
    filled = chosen | {player.pk: player for player in before if player.pk not in chosen.keys() | left} | remaining
    strong = [player for key, player in filled.items() if key not in weak]
    return (strong or list(filled.values())) if entries else []


def weak_models(round_: Round) -> set[int]:
    """Return the models whose score in the last stage is 0: they label more than half of the clean images wrong.

    Against a pool with more than a few of them every untargeted attack has the score 0.
    """
    made = Decision.objects.filter(stage__round=round_, track__name=MODEL).exclude(stage__bracket=TARGETED)
    last = dict(made.order_by("stage__number").values_list("player", "value"))
    return {player for player, value in last.items() if value == 0}


def _moved(
    entry: RoundEntry,
    ranks: Mapping[tuple[int, int], int],
    words: Mapping[tuple[int, int], str],
    failed: Mapping[int, int],
) -> Moved:
    repository, gone = entry.submission.repository, gone_of(entry)
    team, title, overridden = repository.entry.team.name, entry.submission.title, entry.audit_override_reason
    audit = _failed_in(failed.get(entry.player_id, 0))
    warning = (
        f"{title} of {team}, place {entry.place}, {audit}: disqualify it before you publish, or override the audit."
    )
    return Moved(
        team=team,
        title=title,
        rank_before=ranks.get((entry.track_id, repository.entry_id)),
        place=entry.place,
        why=words.get((entry.track_id, entry.player_id), ""),
        gone=gone,
        notes=tuple(filter(None, [audit, f"audit overridden: {overridden}" if overridden else ""])),
        warning=warning if audit and not gone and not overridden else "",
    )


def _failed_in(matches: int) -> str:
    """Return in how many matches a model failed its audit, "" for none."""
    return f"failed its audit in {'one match' if matches == 1 else f'{matches} matches'}" if matches else ""


def reasons_of(round_: Round) -> tuple[dict[tuple[int, int], str], set[tuple[int, int]]]:
    """Return the sentence on each player's last stage, by track and player, and the players without an opponent in it.

    A model's are those of the first bracket, unless it left the other one as inconsistent.
    """
    reasons: dict[tuple[int, int], str] = {}
    met: dict[tuple[int, int], bool] = {}
    made = Decision.objects.filter(stage__round=round_).select_related("stage", "track")
    for line in made.order_by("-stage__bracket", "stage__number"):
        targeted = line.track.name == MODEL and line.stage.bracket == TARGETED
        if targeted and not line.inconsistent:
            continue
        met[line.track_id, line.player_id] = line.value is not None
        reasons[line.track_id, line.player_id] = why(line.stage, line)
    return reasons, {key for key, has_met in met.items() if not has_met}
