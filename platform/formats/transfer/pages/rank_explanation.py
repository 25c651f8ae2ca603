"""Why a submission has its rank: the distance to the next one, the opponent that costs most, and what newcomers did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.urls import reverse

from competitions.models import SampleSet
from evaluation.formats.transfer.rules import Opponents, TransferRules
from formats.transfer.pages.entrant_names import name_of
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.boards import in_order, row_of
from formats.transfer.tournaments.models import Entrant, Tournament
from formats.transfer.tournaments.pair_tables import share_of_points
from formats.transfer.tracks import ATTACK_TRACKS
from pages.submission.rank_explanation import (
    Costliest,
    Neighbour,
    RankExplanation,
    change_of_score,
    next_to,
    other_basis,
    percentage_points,
)
from pages.templatetags.gauntlet import accuracy
from submissions.models import Player


@dataclass(frozen=True)
class _Opponent:
    """An opponent that counts: the first row with its player, and its weight in scores."""

    row: Entrant
    weight: float


def explanation_of(tournament: Tournament, own: Entrant, inside: Sequence[Entrant]) -> RankExplanation | None:
    """Return why an entrant has its rank among those that count now (`inside`, with `own`); None where it has none."""
    if own.rank is None or own.score is None:
        return None
    opponents = _opponents(tournament, own, inside)
    mine = _shares(tournament, own.player, opponents)
    ranked = in_order(each for each in inside if each.track_id == own.track_id and each.rank is not None)
    row, leads = next_to(ranked, own, attrgetter("rank"))
    theirs = {} if row is None or leads else _shares(tournament, row.player, opponents)
    return RankExplanation(
        neighbour=None if row is None else Neighbour(row.rank or 0, name_of(row_of(row)), accuracy(row.score)),
        leads=leads,
        gap="" if row is None else percentage_points(own.score, row.score or 0.0),
        costliest=_costliest(opponents, mine, theirs),
        changes=[*_by_newcomers(own, opponents, mine), *_by_rules(tournament, own)],
        history=reverse("pages:history", args=[tournament.competition.slug, own.track.name]),
    )


def _opponents(tournament: Tournament, own: Entrant, inside: Iterable[Entrant]) -> Mapping[int, _Opponent]:
    """Return the opponents by the keys of their players. Equal content of several teams is one, there since the first.

    The weights are those of the scores: the coverage of the opponent, or whether that is complete.
    """
    complete = tournament.rules.rules_as(TransferRules).opponents is Opponents.COMPLETE
    attacks = own.track.name in ATTACK_TRACKS
    found: dict[int, _Opponent] = {}
    for each in sorted(inside, key=lambda each: (each.entered_at, each.pk)):
        if (each.track.name in ATTACK_TRACKS) != attacks and each.player_id not in found:
            coverage = each.coverage or 0.0
            found[each.player_id] = _Opponent(each, float(coverage == 1.0) if complete else coverage)
    return {player: each for player, each in found.items() if each.weight}


def _shares(tournament: Tournament, player: Player, opponents: Mapping[int, _Opponent]) -> Mapping[int, float]:
    """Return the share of the images with a point for a player against each opponent, by the opponent's key."""
    attacks = player.track_name in ATTACK_TRACKS
    others = [each.row.player for each in opponents.values()]
    pairs = pair_totals.pair_counts(tournament, *(([player], others) if attacks else (others, [player])))
    found = {
        int(pair.defence if attacks else pair.attack): share_of_points(pair, defending=not attacks) for pair in pairs
    }
    return {opponent: share for opponent, share in found.items() if share is not None}


def _costliest(
    opponents: Mapping[int, _Opponent], mine: Mapping[int, float], theirs: Mapping[int, float]
) -> Costliest | None:
    losses = {
        key: each.weight * (theirs[key] - mine[key]) for key, each in opponents.items() if key in mine and key in theirs
    }
    costliest = max(losses, key=lambda key: losses[key], default=None)
    if costliest is None or losses[costliest] <= 0:
        return None
    name = name_of(row_of(opponents[costliest].row))
    return Costliest(name.title, accuracy(mine[costliest]), accuracy(theirs[costliest]), name.url)


def _by_newcomers(own: Entrant, opponents: Mapping[int, _Opponent], mine: Mapping[int, float]) -> list[str]:
    """Return what the opponents did to the score that came after the submission counted, if there are any."""
    met = {key: each for key, each in opponents.items() if key in mine}
    first = {key: each.weight for key, each in met.items() if each.row.entered_at <= own.entered_at}
    later = len(met) - len(first)
    if not first or not later:
        return []
    score = sum(weight * mine[key] for key, weight in first.items()) / sum(first.values())
    before = "opponent that was" if len(first) == 1 else f"{len(first)} opponents that were"
    since = "the one that came since" if later == 1 else f"the {later} that came since"
    return [f"Against the {before} there before it: {accuracy(score)}. With {since}: {accuracy(own.score)}."]


def _by_rules(tournament: Tournament, own: Entrant) -> list[str]:
    """Return the score of the submission on the leaderboard before, under other rules or on other samples."""
    of_leaderboards = Tournament.objects.filter(
        competition=tournament.competition_id, fixed=False, round=None, pk__lt=tournament.pk,
        sample_set__purpose=SampleSet.Purpose.VALIDATION, sample_set__drawn_from=None,
    )  # fmt: skip
    before = Entrant.objects.filter(
        tournament__in=of_leaderboards, submission=own.submission_id, submission__isnull=False, score__isnull=False
    )
    row = before.select_related("tournament").order_by("-tournament").first()
    if row is None:
        return []
    return [change_of_score(other_basis(row.tournament, tournament), accuracy(row.score), accuracy(own.score))]
