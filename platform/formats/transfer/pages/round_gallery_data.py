"""The gallery of a round of the transfer format: what the best attacks made of some samples, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.urls import reverse

from competitions.models import Track
from competitions.sample_pictures import CLEAN, PERTURBED, difference_name
from competitions.sample_store import samples_of
from evaluation.domain.samples import Sample, class_name
from evaluation.formats.transfer.results import NO_LABEL
from formats.transfer.pages.entrant_names import best_first, name_of
from formats.transfer.rounds.round_advancement import frozen_tournament
from formats.transfer.tournaments.boards import row_of
from formats.transfer.tournaments.engine_runs import place_of, sizes_of
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Run, Tournament
from formats.transfer.tournaments.selectors import current_entrants
from formats.transfer.tracks import DEFENCE, TARGETED_ATTACK
from pages.formats import Content
from pages.round.gallery import COLUMNS, SAMPLES_PER_PAGE, GalleryCell, GalleryLine, RoundGallery, amplification
from rounds.models import Round


@dataclass(frozen=True, kw_only=True)
class ImageCell(GalleryCell):
    """What an attack made of a sample, and how many defences it `fooled`.

    `defences` is the number of those that labelled it. Where one is chosen, only that one counts, and `found` is the
    class that it gave.
    """

    fooled: int
    defences: int


@dataclass(frozen=True, kw_only=True)
class ImageLine(GalleryLine):
    """A sample with its epsilon. A cell is None where the attack made no image."""

    epsilon: int


def gallery_content(request: HttpRequest, played: Round, attacks: Track) -> Content:
    """Return the page of the gallery that the address asks for."""
    chosen, factor, page = (request.GET.get(name, "") for name in ("with", "amplify", "page"))
    found = round_gallery(played, attacks, chosen=chosen, factor=factor, page=page)
    return Content(template="formats/transfer/round_gallery.html", context={"gallery": found})


def round_gallery(played: Round, track: Track, *, chosen: str, factor: str, page: str) -> RoundGallery | None:
    """Return a page of the gallery of a published round, None without an attack; for people who see all its images.

    In a number of queries that does not depend on the players and samples. `chosen` is the key of the defence whose
    labels are shown, "" for those of all.
    """
    tournament = frozen_tournament(played)
    inside = list(current_entrants(tournament))
    attacks = best_first(each for each in inside if each.track_id == track.pk and not each.player.hidden)[:COLUMNS]
    if not attacks:
        return None
    defences = best_first(each for each in inside if each.track.name == DEFENCE)
    choices = [(each.player_id, name_of(row_of(each))) for each in defences]
    met = next((player for player, _ in choices if str(player) == chosen), None)
    shown = Paginator(range(tournament.sample_set.count), SAMPLES_PER_PAGE).get_page(page)
    columns = [each.player_id for each in attacks]
    lines = _TransferGalleryLines(
        played=played,
        tournament=tournament,
        columns=columns,
        targeted=track.name == TARGETED_ATTACK,
        factor=amplification(factor),
        chosen=met,
        epsilons=[epsilon for epsilon, _ in sizes_of(tournament)],
        made=_made(tournament, columns, {place_of(tournament, sample)[0] for sample in shown}),
    )
    samples = samples_of(tournament.sample_set)
    return RoundGallery(
        columns=[name_of(row_of(each)) for each in attacks],
        lines=[lines.line(samples[sample]) for sample in shown],
        page=shown,
        factor=lines.factor,
        chosen=met,
        choices=choices,
    )


@dataclass(frozen=True)
class _Made:
    """What an attack made of a batch: which images, and the labels of each defence by its key."""

    images: Sequence[bool]
    labels: Mapping[int, Sequence[int]]


def _made(tournament: Tournament, attacks: Sequence[int], batches: set[int]) -> dict[tuple[int, int], _Made]:
    """Return what attacks made of some batches, by attack and batch, in two queries."""
    runs = AttackRun.objects.filter(tournament=tournament, attack__in=attacks, batch__in=batches)
    played = runs.filter(state=Run.State.PLAYED).values_list("pk", "attack", "batch", "hashes")
    labels: dict[int, dict[int, Sequence[int]]] = {}
    labelled = DefenceRun.objects.filter(attack_run__in=[pk for pk, *_ in played], state=Run.State.PLAYED)
    for run, defence, given in labelled.values_list("attack_run", "defence", "labels"):
        labels.setdefault(run, {})[defence] = given
    return {
        (attack, batch): _Made([bool(each) for each in hashes], labels.get(pk, {}))
        for pk, attack, batch, hashes in played
    }


@dataclass(frozen=True)
class _TransferGalleryLines:
    """What the lines of a page have in common."""

    played: Round
    tournament: Tournament
    columns: Sequence[int]
    targeted: bool
    factor: int
    chosen: int | None
    epsilons: Sequence[int]
    made: Mapping[tuple[int, int], _Made]

    def line(self, sample: Sample) -> ImageLine:
        """Return the line of a sample."""
        batch, index = place_of(self.tournament, sample.number)
        return ImageLine(
            sample=sample.number,
            label=self._class(sample.label),
            target=self._class(sample.target) if self.targeted else "",
            epsilon=self.epsilons[batch],
            clean=self._picture(self.columns[0], sample, CLEAN),
            cells=[self._cell(attack, sample, self.made.get((attack, batch)), index) for attack in self.columns],
        )

    def _cell(self, attack: int, sample: Sample, made: _Made | None, index: int) -> ImageCell | None:
        if made is None or not made.images[index]:
            return None
        given = {defence: labels[index] for defence, labels in made.labels.items()}
        if self.chosen is not None:
            given = {defence: label for defence, label in given.items() if defence == self.chosen}
        labelled = [label for label in given.values() if label != NO_LABEL]
        return ImageCell(
            perturbed=self._picture(attack, sample, PERTURBED),
            difference=self._picture(attack, sample, difference_name(self.factor)),
            found="" if self.chosen is None else self._class(given.get(self.chosen)),
            fooled=sum((label == sample.target) if self.targeted else (label != sample.label) for label in labelled),
            defences=len(labelled),
        )

    def _picture(self, attack: int, sample: Sample, name: str) -> str:
        place = [self.played.competition.slug, self.played.number, attack, sample.number, name]
        return reverse("pages:round_image", args=place)

    def _class(self, label: int | None) -> str:
        return class_name(self.tournament.sample_set.class_names, label)
