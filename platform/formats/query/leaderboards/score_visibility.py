"""Which scores are shown to whom.

While the leaderboards of a competition are frozen, everyone sees what was known at the freeze: the snapshots, and no
evaluation that ended later. Members of a team see the scores of their own submissions, and organisers see everything.
All public scores are read through this module, and by default as the public sees them.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery, prefetch_related_objects

from competitions.board_freezes import frozen_since
from competitions.models import Competition, Entry, Track
from formats.query.leaderboards.board_row_selection import (
    PAGE_ROWS,
    WHOLE,
    BoardFreeze,
    BoardPage,
    BoardView,
    seen_through,
)
from formats.query.leaderboards.board_rows import BoardRow, kept_row, standing_row, standing_values, standings_of
from formats.query.leaderboards.evaluation_basis import (
    COUNTED,
    NEWEST,
    EvaluationBasis,
    counted_at,
    counting,
    keys_in_force,
    measured_under,
)
from formats.query.leaderboards.models import Evaluation, Snapshot, Standing
from formats.query.leaderboards.past_boards import board_at
from submissions.models import HIDDEN_TITLE, Player, Submission
from submissions.selectors import submitted_baselines


def board(
    track: Track,
    page: int | str = 1,
    *,
    frozen: bool | None = None,
    page_rows: int = PAGE_ROWS,
    basis: EvaluationBasis | None = None,
    view: BoardView = WHOLE,
    at: datetime | None = None,
) -> BoardPage:
    """Return a page of the track's leaderboard in a few queries; a page number out of range gives the nearest page.

    The public board, or with `frozen` False the live one, for people of whom `sees_live` is true. Within a tie teams
    are listed by slug, which is no ranking. `basis` is the result of `ranking_basis`, if known. `at` is a time in the
    past, as in `whole_board`.
    """
    if at is None and view.whole and not _is_frozen(track, frozen):
        return _live_page(track, page, page_rows, basis)
    if at is not None and view.whole and _is_before_freeze(track, frozen, at):
        return _past_page(track, page, page_rows, at)
    freeze, rows, at = whole_board(track, frozen=frozen, basis=basis, at=at)
    paginator = Paginator(seen_through(view, rows), page_rows)
    chosen = paginator.get_page(page)
    highest = max((row.high for row in rows if not row.not_broken), default=0.0)
    return BoardPage(
        list(chosen.object_list),
        chosen.number,
        paginator.num_pages,
        paginator.count,
        freeze,
        highest,
        teams=len(rows),
        at=at,
    )


def whole_board(
    track: Track, *, frozen: bool | None = None, basis: EvaluationBasis | None = None, at: datetime | None = None
) -> tuple[BoardFreeze | None, list[BoardRow], datetime | None]:
    """Return the freeze, all rows, and the time of the track's leaderboard as of `at`, or the current one.

    The time is None for the current one. A frozen board is the same at all times after its freeze.
    """
    if at is not None and _is_before_freeze(track, frozen, at):
        return None, board_at(track, at).rows(), at
    freeze, kept = _frozen(track, frozen)
    if freeze is not None:
        return freeze, list(map(kept_row, kept)), None
    return None, list(map(standing_row, standings_of(track, basis))), None


def _live_page(track: Track, page: int | str, page_rows: int, basis: EvaluationBasis | None) -> BoardPage:
    """Return a page of the live leaderboard. Only its rows are read."""
    paginator = Paginator(standings_of(track, basis), page_rows)
    broken = Q(evaluation__held__isnull=True) | Q(evaluation__samples__gte=2 * F("evaluation__held"))
    highest_of = Max("evaluation__high", filter=broken)
    known = Standing.objects.filter(track=track).aggregate(count=Count("pk"), highest=highest_of)
    count = vars(paginator)["count"] = known["count"]  # so that it is not counted twice
    chosen = paginator.get_page(page)
    rows = list(map(standing_row, chosen.object_list))
    return BoardPage(rows, chosen.number, paginator.num_pages, count, highest=known["highest"] or 0.0, teams=count)


def _past_page(track: Track, page: int | str, page_rows: int, at: datetime) -> BoardPage:
    """Return a page of the leaderboard as of `at`. Of the other rows only scores are read."""
    past = board_at(track, at)
    paginator = Paginator(past.places, page_rows)
    chosen = paginator.get_page(page)
    rows = past.rows((chosen.number - 1) * page_rows, chosen.number * page_rows)
    count = paginator.count
    return BoardPage(rows, chosen.number, paginator.num_pages, count, highest=past.highest, teams=count, at=at)


def tops(tracks: Sequence[Track], count: int, *, live: Container[int]) -> dict[int, BoardPage]:
    """Return the first `count` rows of the leaderboard of each track, by its key, in at most three queries,
    and one for each frozen one.

    `live` has the keys of the competitions whose live leaderboards the person sees (`seen_live`).
    """
    frozen = [track for track in tracks if track.competition_id not in live]
    kept = _newest_snapshots(frozen)
    shown = _top_standings([track for track in tracks if track.competition_id in live], count)
    for track in frozen:
        since = frozen_since(track.competition)
        snapshot = kept.get(track.pk)
        kept_rows = _as_named_now(track.competition_id, snapshot.rows[:count]) if snapshot else []
        rows = [kept_row(values) for values in kept_rows]
        freeze = BoardFreeze(since, snapshot.reason if snapshot else "") if since else None
        shown[track.pk] = BoardPage(rows, 1, 1, len(rows), freeze)
    return shown


def _top_standings(tracks: Sequence[Track], count: int) -> dict[int, BoardPage]:
    if not tracks:
        return {}
    found: dict[int, list[BoardRow]] = {track.pk: [] for track in tracks}
    # equal scores share a place, so a track has at least `count` rows with a place up to `count`, if it has as many
    top = Standing.objects.filter(track__in=tracks, place__lte=count)
    for values in standing_values(top, _in_force(tracks), "track_id"):
        rows = found[values.pop("track_id")]
        if len(rows) < count:
            rows.append(standing_row(values))
    return {track: BoardPage(rows, 1, 1, len(rows)) for track, rows in found.items()}


def _newest_snapshots(tracks: Sequence[Track]) -> dict[int, Snapshot]:
    """Return the snapshot that the frozen leaderboard of each track shows, by the key of the track."""
    if not tracks:
        return {}
    since = OuterRef("competition__frozen_leaderboards__since")
    newest = Snapshot.objects.filter(track=OuterRef("pk"), made_at__lte=since).order_by("-pk").values("pk")[:1]
    kept = Track.objects.filter(pk__in=[track.pk for track in tracks]).annotate(kept=Subquery(newest)).values("kept")
    return {snapshot.track_id: snapshot for snapshot in Snapshot.objects.filter(pk__in=kept)}


def rows_of(entry: Entry, *, frozen: bool | None = None) -> list[tuple[Track, BoardRow]]:
    """Return the team's rows on the leaderboards of its competition, as in `board`, in the order of the tracks."""
    tracks = list(entry.competition.tracks.select_related("competition__frozen_leaderboards"))
    if tracks and _is_frozen(tracks[0], frozen):
        kept = [(track, values) for track in tracks for values in _frozen(track, frozen)[1]]
        return [(track, kept_row(values)) for track, values in kept if values["team_slug"] == entry.team.slug]
    own = Standing.objects.filter(track__in=tracks, entry=entry)
    rows = {values.pop("track_id"): values for values in standing_values(own, _in_force(tracks), "track_id")}
    return [(track, standing_row(rows[track.pk])) for track in tracks if track.pk in rows]


def row_of(track: Track, entry: Entry, *, frozen: bool | None = None) -> BoardRow | None:
    """Return the team's row on the leaderboard of a track, as in `board`; None if it has none."""
    if frozen is not False and frozen_since(entry.competition) is not None:
        kept = _frozen(track, frozen)[1]
        return next((kept_row(values) for values in kept if values["team_slug"] == entry.team.slug), None)
    own = Standing.objects.filter(track=track, entry=entry)
    values = standing_values(own, _in_force([track])).first()
    return None if values is None else standing_row(values)


def neighbour_of(track: Track, row: BoardRow, *, better: bool, frozen: bool | None = None) -> BoardRow | None:
    """Return the nearest row with a better or a worse rank than `row`, which has one, as in `board`; None without one.

    Of equal ranks, the first one by slug.
    """
    rank = row.rank or 0
    if _is_frozen(track, frozen):
        ranked = [(each["rank"], each) for each in _frozen(track, frozen)[1] if each["rank"] is not None]
        beyond = [other for other, _ in ranked if (other < rank if better else other > rank)]
        nearest = (max if better else min)(beyond, default=None)
        return next((kept_row(values) for other, values in ranked if other == nearest), None)
    standings = Standing.objects.filter(track=track)
    beyond_it = standings.filter(rank__lt=rank) if better else standings.filter(rank__gt=rank)
    first = beyond_it.order_by("-rank" if better else "rank").values("rank")[:1]
    values = standing_values(standings.filter(rank=Subquery(first)), _in_force([track])).first()
    return None if values is None else standing_row(values)


def _in_force(tracks: Sequence[Track]) -> Q:
    """Return the condition that a standing on one of the tracks has the basis in force there."""
    bases = keys_in_force(tracks)
    found = Q(pk__in=[])
    for track in tracks:
        found |= Q(track=track) & measured_under(bases[track.pk])
    return found


def rows_now(track: Track) -> list[dict[str, Any]]:
    """Return the whole live board as plain values for JSON, the content of a snapshot."""
    rows = map(standing_row, standings_of(track))
    return [asdict(row) | {"scored_at": row.scored_at.isoformat()} for row in rows]


def evaluation_of(submission: Submission) -> Evaluation | None:
    """Return the newest evaluation of a submission, with its pool, sample set, rules and worst opponent.

    For its team and the organisers. One of a rejudging counts once that is published.
    """
    return _newest(submission, Q())


def public_evaluation_of(submission: Submission) -> Evaluation | None:
    """Return the public view of `evaluation_of`: while leaderboards are frozen, the newest known at the freeze.

    A playing evaluation is returned only if none was known: otherwise a score would vanish while it is measured again.
    """
    since = frozen_since(submission.repository.entry.competition)
    if since is None:
        return evaluation_of(submission)
    known, playing = _public_at(since)
    return _newest(submission, known) or _newest(submission, playing)


def evaluations_of(
    submissions: Collection[Submission], competition: Competition, *, inside: bool
) -> dict[int, Evaluation]:
    """Return the evaluation to show of each submission of a competition that has one, by its key, in two queries.

    That of `evaluation_of` for its team and the organisers (`inside`), of `public_evaluation_of` for the public. They
    come without results per opponent.
    """
    since = frozen_since(competition)
    if inside or since is None:
        return _newest_of(submissions, Q())
    known, playing = _public_at(since)
    return _newest_of(submissions, playing) | _newest_of(submissions, known)


def shown_evaluations_of(submission: Submission, *, inside: bool) -> QuerySet[Evaluation]:
    """Return all evaluations of a submission that count, the newest first, as `evaluation_of` for its team and the
    organisers (`inside`) or `public_evaluation_of` for the public.
    """
    rows = submission.evaluations.filter(COUNTED).select_related("pool", "sample_set", "rules", "worst_opponent")
    since = frozen_since(submission.repository.entry.competition)
    if since is not None and not inside:
        known, playing = _public_at(since)
        rows = rows.filter(known) if rows.filter(known).exists() else rows.filter(playing)
    return rows.order_by(*NEWEST)


def baselines_of(track: Track, *, inside: bool) -> list[tuple[Submission, Evaluation | None]]:
    """Return the submissions that organisers made baselines of a track, each with the evaluation to show.

    `inside` as in `evaluations_of`.
    """
    baselines = submitted_baselines().filter(repository__track=track).order_by("baseline_at", "pk")
    found = list(baselines.select_related("repository__entry__team"))
    shown = evaluations_of(found, track.competition, inside=inside) if found else {}
    return [(each, shown.get(each.pk)) for each in found]


def newest_scores(track: Track, most: int, entry: Entry | None = None) -> list[Evaluation]:
    """Return the newest public scores of a track, at most `most`, one for each submission; those of a team for `entry`.

    Each comes with its submission, track and team. While leaderboards are frozen, what was known at the freeze.
    """
    since = frozen_since(track.competition)
    seen = COUNTED if since is None else counted_at(since)
    submissions = counting(seen).filter(repository__track=track)
    if entry is not None:
        submissions = submissions.filter(repository__entry=entry)
    scored = Evaluation.objects.filter(seen, state=Evaluation.State.SCORED, submission__in=submissions)
    last = scored.order_by().values("submission").annotate(last=Max("finished_at")).order_by("-last", "-submission")
    found = _newest_of(Submission.objects.filter(pk__in=[row["submission"] for row in last[:most]]), Q(pk__in=scored))
    related = Submission.objects.select_related("repository__track", "repository__entry__team").in_bulk(found)
    for key, evaluation in found.items():
        evaluation.submission = related[key]
    prefetch_related_objects(list(found.values()), "rejudging")
    return sorted(found.values(), key=lambda each: (each.finished_at, each.pk), reverse=True)


def _public_at(since: datetime) -> tuple[Q, Q]:
    """Return the conditions for evaluations that are public while leaderboards are frozen: ended, and playing ones."""
    published = Q(rejudging__isnull=True) | Q(rejudging__settled_at__lte=since)
    return Q(finished_at__lte=since) & published, Q(finished_at__isnull=True) & published


def _newest_of(submissions: Collection[Submission] | QuerySet[Submission], shown: Q) -> dict[int, Evaluation]:
    rows = Evaluation.objects.filter(COUNTED, shown, submission__in=submissions).defer("per_opponent")
    found: dict[int, Evaluation] = {}
    for evaluation in rows.order_by("submission", *NEWEST):
        found.setdefault(evaluation.submission_id, evaluation)
    return found


def _newest(submission: Submission, shown: Q) -> Evaluation | None:
    related = ("pool", "sample_set", "rules", "worst_opponent")
    return submission.evaluations.filter(COUNTED, shown).select_related(*related).order_by(*NEWEST).first()


def _is_frozen(track: Track, frozen: bool | None) -> bool:
    return frozen_since(track.competition) is not None and frozen is not False


def _is_before_freeze(track: Track, frozen: bool | None, at: datetime) -> bool:
    """Return whether the board as of `at` is not the frozen one."""
    since = frozen_since(track.competition)
    return since is None or not _is_frozen(track, frozen) or at < since


def _frozen(track: Track, frozen: bool | None) -> tuple[BoardFreeze | None, list[dict[str, Any]]]:
    """Return the freeze of the track's public board with its rows; (None, []) to read the live board."""
    since = frozen_since(track.competition)
    if since is None or not _is_frozen(track, frozen):
        return None, []
    snapshot = track.snapshots.filter(made_at__lte=since).order_by("-pk").first()
    if snapshot is None:
        return BoardFreeze(since, ""), []
    return BoardFreeze(since, snapshot.reason), _as_named_now(track.competition_id, snapshot.rows)


def _as_named_now(competition: int, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of a snapshot, with the neutral label for what is hidden now: a snapshot never changes.

    Of a worst opponent it has the title alone, which others may have, too.
    """
    of_it = Submission.objects.filter(repository__entry__competition=competition, hidden_at__isnull=False)
    hidden = dict(of_it.values_list("pk", "given_title"))
    if not hidden:
        return list(rows)
    public = set(Player.objects.filter(competition=competition, given_title="").values_list("title", flat=True))
    titles = set(hidden.values()) - public
    return [
        row
        | ({"title": HIDDEN_TITLE} if row["submission"] in hidden else {})
        | ({"worst_opponent": HIDDEN_TITLE} if row["worst_opponent"] in titles else {})
        for row in rows
    ]
