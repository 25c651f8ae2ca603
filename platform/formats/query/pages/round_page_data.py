"""Data of the public page of a round. Before a round is published, they contain neither players nor ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import Http404, HttpRequest
from django.urls import reverse

from competitions.board_freezes import frozen_since, sees_live
from competitions.models import Track
from core.leaderboard_resolution_text import few_samples
from evaluation.charts.interval_bar_axis import Axis, axis_to
from formats.query.pages import match_links
from formats.query.pages.bracket import NO_MATCHES, Bracket, BracketStage, bracket
from formats.query.pages.bracket_picture import BracketPicture
from formats.query.pages.paper_figures import figures_of
from formats.query.pages.rules_table import scale
from formats.query.rounds.models import RoundStage, RoundWarning
from formats.query.rounds.pair_archives import pairs_of
from formats.query.rounds.progress import progress
from formats.query.rounds.stages_and_decisions import BracketView, standings_and_stages
from formats.query.tracks import MODEL, TARGETED, UNTARGETED
from pages.formats import Content, RoundContent, RoundProgress
from pages.player_names import PlayerName, names_in
from rounds.models import Release, Round
from rounds.publishing.pair_visibility import images_seen, pairs_public
from rounds.selectors import StandingRow

TOP = 5


@dataclass(frozen=True)
class Special:
    """The score of a model against a special attack, on the first `samples` samples."""

    value: float
    samples: int


@dataclass(frozen=True)
class StandingsRow:
    """A row of the standings of a round.

    `cut` names the stage and the reason of the elimination, "" for the players of the last stage. `shares`: another
    team submitted the same content and has the same place. `tries`: the number of pairs of opponent and sample that
    `failures` refers to, 0 if none counted. `special`: for a model that a warning names, its score on some samples if
    the attack of the warning counted; the smallest of several.
    """

    of: StandingRow
    shares: bool
    cut: str
    tries: int
    special: Special | None

    @property
    def hardest(self) -> tuple[int, int | None]:
        """The players of its match against the hardest opponent."""
        return self.of.player, self.of.worst_opponent_player


@dataclass(frozen=True)
class WarningRow:
    """An attack that does not count and beat a winning model; both as "title by teams", and their players."""

    attack: str
    model: str
    players: tuple[int, int]
    nearer: int
    samples: int
    median: float | None


@dataclass(frozen=True)
class RoundResults:
    """Results of a published round: the top five of each track, and one track in full."""

    top: Sequence[tuple[Track, Sequence[StandingRow], int]]
    track: Track
    rows: Sequence[StandingsRow]
    bracket: Bracket
    warnings: Sequence[WarningRow]

    @property
    def axis(self) -> Axis:
        """The axis of the interval bars."""
        return axis_to(max((row.of.high or 0.0 for row in self.rows), default=1.0))

    @property
    def line_after_fifth(self) -> str:
        """Whether the fifth is separated from the sixth, as "is" or "is not"; "" if there is no sixth."""
        # teams that submitted the same content share a place
        separated = {row.of.player: row.of.separated_from_next for row in self.rows if row.of.value is not None}
        if len(separated) <= TOP:
            return ""
        return "is" if list(separated.values())[TOP - 1] else "is not"

    @property
    def last_stage(self) -> BracketStage | None:
        """The last stage of the track's bracket."""
        return self.bracket.columns[-1] if self.bracket.columns else None

    @property
    def few_samples(self) -> str:
        """What the intervals are worth where the last stage has few samples; "" otherwise."""
        return few_samples(self.last_stage.samples) if self.last_stage else ""

    @property
    def own_team(self) -> bool:
        """Whether an opponent of the same team does not count for a row."""
        return any(row.of.met != row.of.opponents for row in self.rows)

    @property
    def other_prizes(self) -> bool:
        """Whether the order of prizes differs from the places."""
        return any(row.of.prize_place not in (None, row.of.place) for row in self.rows)

    @property
    def inconsistent(self) -> bool:
        """Whether a row was eliminated as inconsistent."""
        return any(row.of.gone == "inconsistent" for row in self.rows)

    @property
    def not_broken(self) -> bool:
        """Whether a row was not broken."""
        return any(row.of.not_broken for row in self.rows)


def progress_of(played: Round) -> RoundProgress:
    """Return the progress of a round in triples, without names. What is planned grows with each stage."""
    found = progress(played)
    total = found.done + found.left
    words = f"{intcomma(found.done)} of {intcomma(total)} triples played"
    return RoundProgress(
        stage=_stage(played, list(played.stages.all())),
        words=words if total else "no triples planned yet",
        note="A triple is one model, one attack and one sample. Each stage adds triples when the stage before it ends.",
        played=found.done,
        total=total,
    )


def _stage(played: Round, stages: Sequence[RoundStage]) -> str:
    over = {stage.bracket for stage in stages if _is_last(stage, played)}
    if UNTARGETED not in over:
        number = sum(stage.bracket == UNTARGETED for stage in stages) + 1
        return f"Stage {number} of models and untargeted attacks"
    if TARGETED not in over:
        number = sum(stage.bracket == TARGETED for stage in stages) + 1
        return f"Stage {number} of targeted attacks against the five best models"
    return "Final check: attacks that were cut, against the five winning models"


def _is_last(stage: RoundStage, played: Round) -> bool:
    return stage.samples == played.sample_set.count and stage.ordered_by == "median"


def results(
    played: Round,
    tracks: Sequence[Track],
    shown: Track,
    entries: Mapping[str, Sequence[StandingRow]],
    stages: Sequence[BracketView],
    *,
    sees_live: bool,
    matches: Mapping[tuple[int, int], int] = NO_MATCHES,
) -> RoundResults:
    """Return the results of a published round with these standings and stages, and the track `shown` in full.

    If the leaderboards were frozen before the round, the first panel shows their secret order. It is then visible
    only with `sees_live`, until the leaderboards are released.
    """
    since = frozen_since(played.competition)
    hidden = since is not None and since <= played.window.starts_at and not sees_live
    rows = entries[shown.name]
    drawn = bracket(stages, shown.name, rows, without_first_panel=hidden, matches=matches)
    tries = _tries(stages, shown.name, rows)
    warned = _warnings(played, [*entries[MODEL], *entries[UNTARGETED]])
    special = _special(warned)
    sharing = Counter(row.player for row in rows)
    return RoundResults(
        top=[(track, _top(entries[track.name]), len(entries[track.name])) for track in tracks],
        track=shown,
        rows=[
            StandingsRow(
                row,
                sharing[row.player] > 1,
                drawn.cuts.get(row.player, ""),
                tries[row.player],
                special.get(row.player),
            )
            for row in rows
        ],
        bracket=drawn,
        warnings=warned,
    )


def _tries(stages: Sequence[BracketView], track_name: str, rows: Sequence[StandingRow]) -> dict[int, int]:
    """Return for each player the number of pairs of sample and opponent that scored it in the last stage."""
    attack_track = TARGETED if track_name == TARGETED else UNTARGETED
    last = next((each.stages[-1] for each in stages if each.track_name == attack_track and each.stages), None)
    return {row.player: last.samples * (row.met or 0) if last else 0 for row in rows}


def _warnings(played: Round, rows: Iterable[StandingRow]) -> Sequence[WarningRow]:
    titles: dict[int, str] = {}
    for row in rows:
        known = titles.get(row.player)
        titles[row.player] = f"{known}, {row.team}" if known else str(PlayerName(row.title, row.team))
    return [
        WarningRow(titles[attack], titles[model], (attack, model), nearer, samples, median)
        for attack, model, nearer, samples, median in RoundWarning.objects.filter(round=played).values_list(
            "attack", "model", "nearer", "samples", "median"
        )
    ]


def _special(warned: Sequence[WarningRow]) -> dict[int, Special]:
    """Return the smallest figure of each model."""
    found: dict[int, Special] = {}
    for row in warned:
        model = row.players[1]
        if row.median is not None and (model not in found or row.median < found[model].value):
            found[model] = Special(row.median, row.samples)
    return found


def _top(rows: Sequence[StandingRow]) -> Sequence[StandingRow]:
    return [row for row in rows if row.place is not None and row.place <= TOP]


@dataclass(frozen=True)
class ReleasedPair:
    """A pair whose perturbed images are released: its match, and the `part` of the round that holds them."""

    match: int
    part: str
    model: PlayerName
    attack: PlayerName
    samples: int


def released_pairs(shown: Round, attack_track: str) -> Sequence[ReleasedPair]:
    """Return the pairs of a round with attacks of a track, by attack and model."""
    rows = list(
        pairs_of(shown)
        .filter(attack__track_name=attack_track)
        .values_list("pk", "model", "attack", "round_match__samples")
    )
    names = names_in(shown, {player for _, *players, _ in rows for player in players})
    pairs = [
        ReleasedPair(match, f"perturbed-{match}", names[model], names[attack], samples or 0)
        for match, model, attack, samples in rows
    ]
    return sorted(pairs, key=lambda pair: (str(pair.attack), str(pair.model), pair.match))


def round_content(
    request: HttpRequest, shown: Round, tracks: Sequence[Track], public: Mapping[str, Release]
) -> RoundContent:
    """Return warnings, standings and bracket of a published round, with the track in full that the address names.

    Raise `Http404` for an unknown track.
    """
    name = request.GET.get("track")
    track = next((track for track in tracks if track.name == name), None) if name else tracks[0]
    if track is None:
        raise Http404("no such track")
    matches = match_links.pairs_of(shown) if pairs_public(shown, request.user) else {}
    entries, stages = standings_and_stages(shown)
    live = sees_live(request.user, shown.competition)
    found = results(shown, tracks, track, entries, stages, sees_live=live, matches=matches)
    csv = reverse("pages:round_bracket", args=[shown.competition.slug, shown.number, track.name])
    attack_track = UNTARGETED if track.name == MODEL else track.name
    perturbed = released_pairs(shown, attack_track) if Release.Part.PERTURBED in public else ()
    return RoundContent(
        template="formats/query/parts/round.html",
        context={
            "results": found,
            "picture": BracketPicture(found.bracket, csv) if found.bracket.rows else None,
            "matches": matches,
            "attack_track": attack_track,
            "images": images_seen(shown, request.user, public),
            "scale": scale(shown.rules) if shown.rules else "",
        },
        charts=True,
        figures=figures_of(request, shown, entries, stages),
        perturbed=Content(template="formats/query/parts/round_pairs.html", context={"pairs": perturbed})
        if perturbed
        else None,
    )
