"""What a season of the query format costs: the matches of leaderboards and rounds, and those that follow a round."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from competitions.models import Competition, SampleSet
from competitions.sample_set_selectors import sample_set_for
from competitions.season_costs import (
    NOBODY,
    CostLine,
    ExpectedSeason,
    ExpectedTrack,
    Quantity,
    SeasonCosts,
    share_of_either,
)
from competitions.selectors import rules_in_force
from evaluation.formats.query.rules import QueryRules
from formats.query.matches.match_session import AUDITED_IMAGES
from formats.query.matches.measured_time_and_disk import MeasuredSpeed, measured_speed, stored_bytes_per_sample
from formats.query.matches.models import Piece
from formats.query.rounds.round_as_engine_values import StageCeiling, parts_of, planned_ends
from formats.query.tracks import MODEL, TARGETED, TRACKS, UNTARGETED
from rounds.models import Round
from rounds.season_costs import (
    LIMIT,
    alike,
    build_lines,
    build_quantities,
    measured_on,
    most_of_smoke_test,
    planned_rounds,
    with_live_workers,
)

MEASURED_PIECES = 500
"""The last pieces of a competition whose means are offered."""

TRACE_BYTES = 14
"""Of a query in the trace of a piece, before it is compressed."""


@dataclass(frozen=True)
class Meetings:
    """Matches with their pieces and samples, and the `audits` that follow them, with the pieces of these."""

    matches: int
    pieces: int
    samples: int
    audits: int
    audited_pieces: int


@dataclass(frozen=True)
class QueryTimes:
    """The quantities of the format: means over samples, queries, answers and pieces."""

    queries: float
    answer: float
    own: float
    start: float
    audited_images: float
    stored_bytes: float

    def line(self, title: str, made_of: str, played: Meetings, gpu: float) -> CostLine:
        """Return what `played` costs; in `gpu` of the matches a player uses a GPU."""
        queries = played.samples * self.queries
        seconds = (
            queries * (self.answer + self.own)
            + (played.pieces + played.audits) * self.start
            + played.audited_pieces * self.audited_images * self.answer
        )
        stored = played.samples * self.stored_bytes
        return CostLine(
            title, made_of, played.matches, "matches", played.samples, queries, seconds, gpu * seconds, stored
        )


def season_quantities(competition: Competition) -> list[Quantity]:
    """Return the means of the last pieces of this competition, else of others with such images, else the limits."""
    rules = rules_in_force(competition).rules_as(QueryRules)
    built = build_quantities(competition, most_of_smoke_test(competition))
    for elsewhere, keys in ((False, [competition.pk]), (True, alike(competition))):
        pieces = Piece.objects.filter(match__rules__competition__in=keys)
        speed = measured_speed(pieces, most=MEASURED_PIECES)
        if speed is not None and speed.queries:
            source = measured_on(speed.pieces, "pieces", elsewhere=elsewhere)
            return [*_measured(speed, stored_bytes_per_sample(pieces), source, rules), *built]
    return [*_limits(rules), *built]


def _measured(speed: MeasuredSpeed, stored: float | None, source: str, rules: QueryRules) -> Iterator[Quantity]:
    limits = {each.name: each for each in _limits(rules)}
    each_query = speed.seconds / speed.queries
    answer, own, unknown = each_query, 0.0, " The attack's part was not recorded, and is part of this."
    if speed.model_share is not None:
        answer, own, unknown = speed.model_share * each_query, (1.0 - speed.model_share) * each_query, ""
    audited = speed.audited / speed.audited_pieces if speed.audited_pieces else None
    values = {
        "queries": (speed.queries / speed.samples, source),
        "answer_seconds": (answer, source + unknown),
        "own_seconds": (own, source),
        "start_seconds": (speed.start_seconds / speed.pieces, source),
    }
    if audited is not None:
        values["audited_images"] = (audited, source)
    if stored is not None:
        values["stored_bytes"] = (stored, source)
    for name, limit in limits.items():
        value, of = values.get(name, (limit.value, limit.source))
        yield Quantity(name, limit.label, value, of)


def _limits(rules: QueryRules) -> list[Quantity]:
    height, width, channels = rules.shape
    image = height * width * channels
    own = rules.attack_seconds_per_sample / rules.query_budget
    return [
        Quantity("queries", "Queries for a sample", rules.query_budget, LIMIT),
        Quantity("answer_seconds", "Seconds of a model for an answer", rules.model_seconds_per_image, LIMIT),
        Quantity("own_seconds", "Seconds of an attack for a query, without the answer", own, LIMIT),
        Quantity("start_seconds", "Seconds to start the players of a piece", rules.setup_seconds, LIMIT),
        Quantity(
            "audited_images",
            "Images of the audit after a match, for each of its pieces",
            AUDITED_IMAGES,
            "What the audit asks at most: nothing was audited yet.",
        ),
        Quantity(
            "stored_bytes",
            "Bytes that are stored of a sample",
            image + TRACE_BYTES * rules.query_budget,
            "Its image and all its queries, not compressed: nothing was played yet.",
        ),
    ]


def season_costs(competition: Competition, season: ExpectedSeason) -> SeasonCosts:
    """Return builds and smoke tests, the matches of each leaderboard, and each planned round with what follows it."""
    rules = rules_in_force(competition).rules_as(QueryRules)
    validation = sample_set_for(competition, SampleSet.Purpose.VALIDATION)
    baselines = {track.name: len(track.baselines) for track in competition.tracks.all()}
    values = season.quantities
    times = QueryTimes(
        queries=values["queries"],
        answer=values["answer_seconds"],
        own=values["own_seconds"],
        start=values["start_seconds"],
        audited_images=values["audited_images"],
        stored_bytes=values["stored_bytes"],
    )
    boards = Boards(season, rules, validation.count, baselines, times)
    titles = {track.name: track.title for track in competition.tracks.all()}
    lines = [*build_lines(season), *boards.first_lines(titles)]
    for planned in planned_rounds(competition):
        lines += round_lines(planned, titles, season, rules, times)
        lines.append(boards.line_after(planned))
    return with_live_workers(lines)


@dataclass(frozen=True)
class Boards:
    """The leaderboards of a season on so many validation samples. `baselines` has the number of each track."""

    season: ExpectedSeason
    rules: QueryRules
    samples: int
    baselines: Mapping[str, int]
    times: QueryTimes

    def first_lines(self, titles: Mapping[str, str]) -> Iterator[CostLine]:
        """Yield the matches of all submissions to each track, against the pool that begins with the baselines."""
        joined = {name: self._joined(name) for name in (MODEL, UNTARGETED)}
        for track in TRACKS:
            expected = _track(self.season, track.name)
            other = UNTARGETED if track.name == MODEL else MODEL
            opponents = self._bundled(other) + joined[other]
            made_of = f"{expected.submissions:,} submissions x {opponents} opponents x {self.samples} samples"
            matches = expected.submissions * opponents
            audited = matches if track.name == MODEL else expected.submissions * joined[other]
            # a match of two submissions that joined the pools is one of both leaderboards
            shared = joined[MODEL] * joined[UNTARGETED] if track.name == MODEL else 0
            if shared:
                made_of += f", less {shared} matches that are those of attacks, too"
            of_pool = _track(self.season, other).gpu * joined[other] / opponents if opponents else 0.0
            yield self.times.line(
                f"Leaderboard: {titles[track.name]}",
                f"{made_of}.",
                self._meetings(matches - shared, audited - shared),
                share_of_either(expected.gpu, of_pool),
            )

    def line_after(self, round_: Round) -> CostLine:
        """Return what is evaluated again when a round is published: what counts, against the pools of its best."""
        models, attacks, targeted = (_track(self.season, name) for name in (MODEL, UNTARGETED, TARGETED))
        best_models, best_attacks = (min(self.rules.opponents, each.teams) for each in (models, attacks))
        all_attacks = attacks.teams + targeted.teams
        matches = models.teams * best_attacks + all_attacks * best_models - best_models * best_attacks
        why = (
            "on a new validation set" if round_.competition.new_validation_set else "at most, if all opponents are new"
        )
        return self.times.line(
            f"Leaderboards after {round_.title}",
            f"{models.teams} models x {best_attacks} attacks and {all_attacks} attacks x {best_models} models, "
            f"each pair once, x {self.samples} samples: {why}.",
            self._meetings(matches, matches),
            share_of_either(models.gpu, attacks.gpu),
        )

    def _bundled(self, name: str) -> int:
        return min(self.rules.opponents, self.baselines.get(name, 0))

    def _joined(self, name: str) -> int:
        """Return how many teams join the first pool of a track, beside its baselines."""
        return min(self.rules.opponents - self._bundled(name), _track(self.season, name).teams)

    def _meetings(self, matches: int, audited: int) -> Meetings:
        pieces = -(-self.samples // self.rules.piece_samples)
        return Meetings(matches, matches * pieces, matches * self.samples, audited, audited * pieces)


def round_lines(
    round_: Round, titles: Mapping[str, str], season: ExpectedSeason, rules: QueryRules, times: QueryTimes
) -> Iterator[CostLine]:
    """Yield the stages of a round in which one submission of each expected team plays, and its sweep."""
    teams = {track.name: _track(season, track.name) for track in TRACKS}
    if not (teams[MODEL].teams and teams[UNTARGETED].teams):
        return
    samples = round_.sample_set.count
    ends = {*range(rules.piece_samples, samples, rules.piece_samples), *planned_ends(round_)}
    for part in parts_of(round_, {name: each.teams for name, each in teams.items()}):
        most = part.most
        if not most.triples:
            continue
        title = f"{titles[part.track]}, stage {part.stage}"
        yield times.line(
            f"{round_.title}: {'warnings of those that left in ' if part.swept else ''}{title}",
            f"{most.pairs:,} pairs x {most.added} samples{' more' if most.added < most.samples else ''}.",
            stage_meetings(most, ends),
            share_of_either(teams[MODEL].gpu, teams[part.track].gpu),
        )


def stage_meetings(most: StageCeiling, ends: Collection[int]) -> Meetings:
    """Return the meetings of a stage, where pieces end at `ends`. A match that goes on is audited again."""
    before = most.samples - most.added
    pieces = most.pairs * sum(before < end <= most.samples for end in ends)
    return Meetings(most.first_met, pieces, most.triples, most.pairs, pieces)


def _track(season: ExpectedSeason, name: str) -> ExpectedTrack:
    return season.tracks.get(name, NOBODY)
