"""A site at size, written directly into the database. Import only after Django is set up.

It has a season of 2,000 teams with five scored models each, a matrix of 100 models and 100 attacks with a published
round of the same matches, and a public match of 500 samples.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from bench.sizes import sized
from bench.synthetic_competition import make_competition, make_entries, make_player, make_pool, make_submissions, score
from competitions.models import Competition, FreezeWindow, RulesVersion, SampleSet, Track
from competitions.sample_store import keep_samples, samples_of
from core import clock, object_store
from evaluation.formats.query.results import Outcome, PieceResult, RefereedSample, Trace
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.piece_file import pack
from formats.query.leaderboards.models import Evaluation, Pool, PoolPlace
from formats.query.leaderboards.scoring import recompute
from formats.query.matches.models import Match, Piece
from formats.query.matches.models import SampleResult as SampleRow
from formats.query.rounds.models import RoundMatch
from formats.query.rounds.planning import RoundSchedule
from formats.query.tracks import MODEL, UNTARGETED
from rounds.models import Round, RoundEntry
from submissions.models import Player, Submission

SEASON, MATRIX = "season", "matrix"
TEAMS, EACH, POOLS, DAYS = sized(2_000, smallest=10), 5, 6, 60
SIDE = sized(100, smallest=5)
SAMPLES, QUERIES = sized(500, smallest=20), sized(1_000, smallest=20)


def make_season() -> None:
    """Create a competition with `EACH` scores of each of `TEAMS` teams over `DAYS`, under `POOLS` pools in turn."""
    competition = make_competition(SEASON)
    now, track = clock.now(), competition.tracks.get(name=MODEL)
    start = now - timedelta(days=DAYS)
    Competition.objects.filter(pk=competition.pk).update(starts_at=start)
    competition.rules_versions.update(created_at=start)
    competition.sample_sets.update(imported_at=start)
    pools = [make_pool(competition)]
    for number in range(2, POOLS + 1):
        later = Pool.objects.create(track=pools[0].track, number=number, made_at=now, reason="the bench")
        for place in pools[0].places.all():
            PoolPlace.objects.create(pool=later, place=place.place, player=place.player)
        pools.append(later)
    for number, pool in enumerate(pools):
        Pool.objects.filter(pk=pool.pk).update(made_at=start + timedelta(days=number * DAYS / POOLS))
    repositories = make_entries(competition, track, TEAMS)
    random = np.random.default_rng(0)
    player = make_player(competition, MODEL, "everybody's model")
    for number in range(EACH):
        at = start + timedelta(days=DAYS * number / EACH)
        made = make_submissions(repositories, player, number + 1, at)
        known = [pool for index, pool in enumerate(pools) if index * EACH <= number * POOLS]
        score(made, known[-1], first=1)
        own = list(Evaluation.objects.filter(submission__in=[each.pk for each in made]))
        for evaluation in own:
            evaluation.value = float(random.gamma(2.0) + number / 10)
            evaluation.low, evaluation.high = evaluation.value - 0.1, evaluation.value + 0.1
            evaluation.finished_at = at + timedelta(days=float(random.random()) * DAYS / EACH)
        Evaluation.objects.bulk_update(own, ["value", "low", "high", "finished_at"], batch_size=500)
    recompute(track)


def make_matrix() -> None:
    """Create a competition of `SIDE` models and as many attacks that all met, and a published round of it."""
    competition = make_competition(MATRIX)
    competition.rules_versions.update(values={"classes": 10})  # those of the digits
    now = clock.now()
    rules, samples = competition.rules_versions.get(), competition.sample_sets.get()
    sides = {}
    for name in (MODEL, UNTARGETED):
        track = competition.tracks.get(name=name)
        repositories = make_entries(competition, track, SIDE, prefix=f"{name}-")
        players = Player.objects.bulk_create(
            Player(
                competition=competition, track_name=name, digest=f"sha256:{name} {number}", command=["true"],
                title=f"{name.capitalize()} {number}", repository=repository, created_at=now,
            )
            for number, repository in enumerate(repositories)
        )  # fmt: skip
        submissions = make_submissions(repositories, None, 1, now)
        for submission, player in zip(submissions, players, strict=True):
            submission.player = player
        Submission.objects.bulk_update(submissions, ["player"])
        pool = Pool.objects.create(track=track, number=1, made_at=now, reason="the bench")
        PoolPlace.objects.bulk_create(
            PoolPlace(pool=pool, place=place, player=player) for place, player in enumerate(players, start=1)
        )
        sides[name] = track, players, submissions, pool
    _, models, _, _ = sides[MODEL]
    _, attacks, _, _ = sides[UNTARGETED]
    matches = _matches(models, attacks, rules, samples)
    for name, other in ((MODEL, attacks), (UNTARGETED, models)):
        track, _, submissions, _ = sides[name]
        pool = sides[UNTARGETED if name == MODEL else MODEL][3]
        score(submissions, pool, first=1)
        found = list(Evaluation.objects.filter(submission__in=[each.pk for each in submissions]).order_by("pk"))
        for evaluation in found:
            evaluation.per_opponent = [
                {"player": player.pk, "title": player.title, "median": 1.5 + place / 40, "failures": place}
                for place, player in enumerate(other)
            ]
        Evaluation.objects.bulk_update(found, ["per_opponent"])
        _link(found, matches, of_models=name == MODEL)
        recompute(track)
    _publish_round(competition, rules, samples, [sides[name][:3] for name in sides], matches)


def _matches(models: list[Player], attacks: list[Player], rules: RulesVersion, samples: SampleSet) -> list[Match]:
    now = clock.now()
    return Match.objects.bulk_create(
        Match(
            rules=rules, sample_set=samples, model=model, attack=attack, seed=1, state=Match.State.PLAYED,
            created_at=now, finished_at=now,
        )
        for model in models
        for attack in attacks
    )  # fmt: skip


def _link(evaluations: list[Evaluation], matches: list[Match], *, of_models: bool) -> None:
    """Give each evaluation the matches of its player: those of a row of the matrix, or of a column."""
    through = Evaluation.matches.through
    through.objects.bulk_create(
        through(evaluation_id=evaluation.pk, match_id=match.pk)
        for number, evaluation in enumerate(evaluations)
        for match in (matches[number * SIDE : (number + 1) * SIDE] if of_models else matches[number::SIDE])
    )


def _publish_round(
    competition: Competition,
    rules: RulesVersion,
    samples: SampleSet,
    sides: list[tuple[Track, list[Player], list[Submission]]],
    matches: list[Match],
) -> None:
    now = clock.now()
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=now, ends_at=now + timedelta(days=1), reason="the bench"
    )
    played = Round.objects.create(
        competition=competition, number=1, title="Round 1", kind=Round.Kind.DEVELOPMENT, window=window,
        schedule=RoundSchedule.LADDER_2, rules=rules,
        sample_set=samples, salt="salt", commitment="0" * 64, planned_at=now, state_since=now,
        state=Round.State.PUBLISHED,
    )  # fmt: skip
    RoundEntry.objects.bulk_create(
        RoundEntry(
            round=played, track=track, submission=submission, player=player, order=place, prior=place, place=place,
            value=place / 10, low=place / 10, high=place / 10 + 0.1, met=SIDE, opponents=SIDE,
        )
        for track, players, submissions in sides
        for place, (player, submission) in enumerate(zip(players, submissions, strict=True), start=1)
    )  # fmt: skip
    RoundMatch.objects.bulk_create(
        RoundMatch(round=played, match=match, samples=200, median=1 + number % SIDE / 20, held=number % SIDE)
        for number, match in enumerate(matches)
    )


def make_match() -> Match:
    """Create a match of `SAMPLES` development samples with `QUERIES` queries each, as part of a score."""
    competition = Competition.objects.get(slug=MATRIX)
    rules, now = competition.rules_versions.get(), clock.now()
    typed = rules.rules_as(QueryRules)
    digest, names = keep_samples(source="digits", split="final", count=SAMPLES, target_seed=1, rules=typed)
    samples = SampleSet.objects.create(
        competition=competition, name="development", purpose=SampleSet.Purpose.DEVELOPMENT, source="digits",
        split="final", count=SAMPLES, target_seed=1, imported_at=now, digest=digest, class_names=list(names),
    )  # fmt: skip
    like = Match.objects.filter(rules=rules).order_by("pk")[0]
    match = Match.objects.create(
        rules=rules, sample_set=samples, model=like.model, attack=like.attack, seed=1, state=Match.State.PLAYED,
        created_at=now, finished_at=now,
    )  # fmt: skip
    like.evaluations.all()[0].matches.add(match)
    for first in range(0, SAMPLES, 10):
        _play(match, first, np.random.default_rng(first))
    return match


def _play(match: Match, first: int, random: np.random.Generator) -> None:
    """Create a played piece of ten samples whose adversarials come closer from query to query."""
    samples = samples_of(match.sample_set)[first : first + 10]
    found = [float(each) for each in 0.5 + random.gamma(2.0, size=len(samples))]
    labels = [1 - each.label % 2 for each in samples]
    rows = tuple(
        RefereedSample(each.number, each.label, None, Outcome.ADVERSARIAL, at, 30.0, QUERIES, 1.0, None, label)
        for each, at, label in zip(samples, found, labels, strict=True)
    )
    numbers = np.repeat([each.number for each in samples], QUERIES).astype(np.uint16)
    query = np.tile(np.arange(1, QUERIES + 1), len(samples))
    at = np.repeat(found, QUERIES) + 20 * (1 - query / QUERIES)
    answers = np.repeat(labels, QUERIES).astype(np.int16)
    trace = Trace(numbers, numbers, query.astype(np.uint32), answers, at.astype(np.float32))
    images = np.stack([each.image ^ 1 for each in samples])
    piece = Piece.objects.create(
        match=match, number=first // 10, first=first, count=len(rows), state=Piece.State.PLAYED,
        artefact=object_store.put(pack(PieceResult(rows, images, trace, seconds=1.0))),
    )  # fmt: skip
    SampleRow.objects.bulk_create(
        SampleRow(
            match=match, piece=piece, sample=row.sample, outcome=row.outcome, distance=row.distance, worst_case=30.0,
            queries=row.queries, seconds=row.seconds, found_label=row.found_label,
        )
        for row in rows
    )  # fmt: skip


def past_time() -> str:
    """Return a time in the middle of the season, as in an address."""
    return f"{clock.now() - timedelta(days=DAYS / 2):%Y-%m-%dT%H:%MZ}"
