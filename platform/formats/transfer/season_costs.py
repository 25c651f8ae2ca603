"""What a season of the transfer format costs: the runs of the leaderboard's tournaments, and of those of rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from competitions.models import Competition, SampleSet
from competitions.sample_set_selectors import sample_set_for
from competitions.season_costs import NOBODY, CostLine, ExpectedSeason, Quantity, SeasonCosts
from competitions.selectors import rules_in_force
from evaluation.formats.transfer.rules import TransferRules
from formats.transfer.tournaments.engine_runs import repeats_due
from formats.transfer.tournaments.measured_time_and_disk import MeasuredRuns, measured_runs, stored_bytes_per_image
from formats.transfer.tournaments.models import AttackRun, DefenceRun
from formats.transfer.tracks import ATTACK_TRACKS, DEFENCE
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


def season_quantities(competition: Competition) -> list[Quantity]:
    """Return the means of the last runs of this competition, else of others with such images, else the limits."""
    rules = rules_in_force(competition).rules_as(TransferRules)
    limit = rules.batch_seconds / rules.batch_images
    height, width, channels = rules.shape
    attack, of_attack = limit, LIMIT
    defence, of_defence = limit, LIMIT
    stored, of_stored = float(height * width * channels), "An image, not compressed: nothing was played yet."
    for elsewhere, keys in ((True, alike(competition)), (False, [competition.pk])):
        runs = AttackRun.objects.filter(tournament__competition__in=keys)
        labelled = DefenceRun.objects.filter(attack_run__tournament__competition__in=keys)
        if made := measured_runs(runs, "images"):
            attack, of_attack = made.seconds_per_image, _source(made, "runs of attacks", elsewhere)
        if read := measured_runs(labelled, "attack_run__images"):
            defence, of_defence = read.seconds_per_image, _source(read, "runs of defences", elsewhere)
        if size := stored_bytes_per_image(runs):
            stored, of_stored = size, measured_on(runs.count(), "runs of attacks", elsewhere=elsewhere)
    return [
        Quantity("attack_seconds", "Seconds of an attack for an image", attack, of_attack),
        Quantity("defence_seconds", "Seconds of a defence for an image", defence, of_defence),
        Quantity("stored_bytes", "Bytes that are stored of an image that an attack made", stored, of_stored),
        *build_quantities(competition, most_of_smoke_test(competition)),
    ]


def _source(measured: MeasuredRuns, unit: str, elsewhere: bool) -> str:
    return measured_on(measured.runs, unit, elsewhere=elsewhere)


@dataclass(frozen=True)
class OpposingSides:
    """Attacks and defences that meet each other, and the shares of them that use a GPU."""

    attacks: int
    defences: int
    attacks_on_gpus: float = 0.0
    defences_on_gpus: float = 0.0


@dataclass(frozen=True)
class Runs:
    """Runs of attacks, of defences, and repeated ones of defences, on sets of so many images."""

    attacks: int
    defences: int
    repeats: int = 0


@dataclass(frozen=True)
class Tournaments:
    """The quantities of the format, and the size of a set: its images, in so many batches."""

    attack_seconds: float
    defence_seconds: float
    stored_bytes: float
    images: int
    batches: int

    def line(self, title: str, made_of: str, runs: Runs, field: OpposingSides) -> CostLine:
        """Return what runs on batches of the set cost."""
        each = self.images / self.batches
        labelled = (runs.defences + runs.repeats) * each
        attack, defence = runs.attacks * each * self.attack_seconds, labelled * self.defence_seconds
        return CostLine(
            title,
            made_of,
            runs.attacks + runs.defences + runs.repeats,
            "runs",
            round((runs.attacks + runs.defences + runs.repeats) * each),
            seconds=attack + defence,
            gpu_seconds=attack * field.attacks_on_gpus + defence * field.defences_on_gpus,
            stored_bytes=runs.attacks * each * self.stored_bytes,
        )

    def whole(self, field: OpposingSides) -> Runs:
        """Return the runs of a tournament in which every attack meets every defence."""
        pairs = field.attacks * field.defences
        repeats = field.defences * repeats_due(field.attacks * self.batches)
        return Runs(field.attacks * self.batches, pairs * self.batches, repeats)

    def further(self, attacks: int, defences: int, field: OpposingSides) -> Runs:
        """Return the runs of further submissions, each of which meets the whole other side."""
        met = (attacks * field.defences + defences * field.attacks) * self.batches
        return Runs(attacks * self.batches, met, repeats_due(met))


def season_costs(competition: Competition, season: ExpectedSeason) -> SeasonCosts:
    """Return builds and smoke tests, the leaderboard's tournaments, and those of the planned rounds."""
    validation = sample_set_for(competition, SampleSet.Purpose.VALIDATION).count
    field = _field(competition, season)
    boards = _tournaments(competition, season, validation)
    lines = [*build_lines(season), *_board_lines(boards, season, field)]
    for planned in planned_rounds(competition):
        of_round = _tournaments(competition, season, planned.sample_set.count)
        lines.append(of_round.line(planned.title, _everybody(field, of_round), of_round.whole(field), field))
        if competition.new_validation_set:
            made_of = f"{_everybody(field, boards)} They meet again on a new validation set."
            lines.append(boards.line(f"Leaderboards after {planned.title}", made_of, boards.whole(field), field))
    return with_live_workers(lines)


def _board_lines(boards: Tournaments, season: ExpectedSeason, field: OpposingSides) -> Iterator[CostLine]:
    yield boards.line("Leaderboard: everybody once", _everybody(field, boards), boards.whole(field), field)
    tracks = season.tracks
    later = {name: each.submissions - each.teams for name, each in tracks.items()}
    attacks, defences = sum(later.get(name, 0) for name in ATTACK_TRACKS), later.get(DEFENCE, 0)
    if attacks or defences:
        made_of = (
            f"{attacks:,} attacks x {boards.batches} batches x (1 + {field.defences} defences), and {defences:,} "
            f"defences x {field.attacks} attacks x {boards.batches} batches, with repeated runs of defences."
        )
        yield boards.line("Leaderboard: further submissions", made_of, boards.further(attacks, defences, field), field)


def _everybody(field: OpposingSides, tournaments: Tournaments) -> str:
    return (
        f"{field.attacks} attacks x {tournaments.batches} batches x (1 + {field.defences} defences), of teams and "
        "baselines, with repeated runs of defences."
    )


def _tournaments(competition: Competition, season: ExpectedSeason, images: int) -> Tournaments:
    rules = rules_in_force(competition).rules_as(TransferRules)
    values = season.quantities
    return Tournaments(
        attack_seconds=values["attack_seconds"],
        defence_seconds=values["defence_seconds"],
        stored_bytes=values["stored_bytes"],
        images=images,
        batches=-(-images // rules.batch_images),
    )


def _field(competition: Competition, season: ExpectedSeason) -> OpposingSides:
    """Return who is there when every expected team has submitted: the teams and the baselines, which use no GPU."""
    bundled = {track.name: len(track.baselines) for track in competition.tracks.all()}
    tracks = {name: season.tracks.get(name, NOBODY) for name in (*ATTACK_TRACKS, DEFENCE)}
    present = {name: bundled.get(name, 0) + each.teams for name, each in tracks.items()}
    attacks, on_gpus = (
        sum(present[name] for name in ATTACK_TRACKS),
        sum(tracks[name].teams * tracks[name].gpu for name in ATTACK_TRACKS),
    )
    defences = present[DEFENCE]
    return OpposingSides(
        attacks,
        defences,
        on_gpus / attacks if attacks else 0.0,
        tracks[DEFENCE].teams * tracks[DEFENCE].gpu / defences if defences else 0.0,
    )
