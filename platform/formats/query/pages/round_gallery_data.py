"""The gallery of a round: the perturbations of some samples, side by side for several models or attacks.

As in the figures 2 to 4 of the paper on the challenge of 2018: for each model the smallest perturbation that any attack
found; one attack against each model; each attack against one model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.core.paginator import Paginator
from django.db.models import F, TextChoices
from django.http import HttpRequest
from django.urls import reverse

from competitions.models import Track
from competitions.sample_pictures import CLEAN, PERTURBED, difference_name
from competitions.sample_store import samples_of
from evaluation.domain.samples import class_name
from evaluation.formats.query.results import Outcome
from formats.query.matches.match_numbers_and_curves import MatchSampleRow, rows_of_samples
from formats.query.pages.rules_table import scale
from formats.query.rounds.models import RoundMatch
from formats.query.tracks import TARGETED
from pages.formats import Content
from pages.player_names import PlayerName, names_in
from pages.round.gallery import COLUMNS, SAMPLES_PER_PAGE, GalleryCell, GalleryLine, RoundGallery, amplification
from rounds.models import Round, RoundEntry


class View(TextChoices):
    """What the columns are, and what a cell shows."""

    SMALLEST = "smallest", "Smallest over attacks"
    MODELS = "models", "By model"
    ATTACKS = "attacks", "By attack"


@dataclass(frozen=True, kw_only=True)
class PerturbationCell(GalleryCell):
    """The result of a sample in a match, with its pictures if it is an adversarial."""

    outcome: str
    distance: float
    queries: int
    match: int
    opponent: PlayerName


@dataclass(frozen=True, kw_only=True)
class PerturbationGallery(RoundGallery):
    """A page of the gallery; all columns meet the chosen attack or model, if there is one."""

    view: View


@dataclass(frozen=True)
class _Pair:
    match: int
    model: int
    attack: int
    samples: int


def gallery_content(request: HttpRequest, played: Round, attacks: Track) -> Content:
    """Return the page of the gallery that the address asks for."""
    given = {name: request.GET.get(name, "") for name in ("view", "page")}
    found = round_gallery(
        played, attacks.name, **given, chosen=request.GET.get("with", ""), factor=request.GET.get("amplify", "")
    )
    context = {"views": View.choices, "gallery": found, "scale": scale(played.rules) if played.rules else ""}
    return Content(template="formats/query/round_gallery.html", context=context)


def round_gallery(
    played: Round, attack_track: str, *, view: str, chosen: str, factor: str, page: str
) -> PerturbationGallery | None:
    """Return a page of the gallery of a published round, None without a match; for people who see all its images.

    In a number of queries that does not depend on the players and samples. `chosen` is the key of a player.
    """
    order = _places(played)
    pairs = [pair for pair in _pairs(played, attack_track) if {pair.model, pair.attack} <= order.keys()]
    if not pairs:
        return None
    shown = View(view) if view in View.values else View.SMALLEST
    models, attacks = (sorted(side, key=order.__getitem__) for side in _sides(pairs))
    choices = {View.MODELS: attacks, View.ATTACKS: models}.get(shown, [])
    met = next((player for player in choices if str(player) == chosen), choices[0] if choices else None)
    columns = (attacks if shown is View.ATTACKS else models)[:COLUMNS]
    if shown is not View.ATTACKS:
        pairs = [pair for pair in pairs if pair.model in columns and met in (None, pair.attack)]
    else:
        pairs = [pair for pair in pairs if pair.attack in columns and pair.model == met]
    samples = Paginator(range(max((pair.samples for pair in pairs), default=0)), SAMPLES_PER_PAGE).get_page(page)
    names = names_in(played, {*models, *attacks})
    results = _results(pairs, list(samples))
    lines = _QueryGalleryLines(
        played,
        columns,
        names,
        amplification(factor),
        of_attacks=shown is View.ATTACKS,
        targeted=attack_track == TARGETED,
    )
    return PerturbationGallery(
        view=shown,
        columns=[names[player] for player in columns],
        lines=[lines.line(sample, results.get(sample, ())) for sample in samples],
        page=samples,
        factor=lines.factor,
        chosen=met,
        choices=[(player, names[player]) for player in choices],
    )


def _pairs(played: Round, attack_track: str) -> list[_Pair]:
    """Return the matches that the outcome uses, without those of hidden attacks, in one query."""
    attacks = {"match__attack__track_name": attack_track, "match__attack__given_title": ""}
    rows = RoundMatch.objects.filter(round=played, samples__gt=0, **attacks)
    columns = rows.values_list("match", "match__model", "match__attack", "samples")
    return [_Pair(match, model, attack, samples or 0) for match, model, attack, samples in columns]


def _places(played: Round) -> dict[int, int]:
    """Return the players of a round, best first, with their position in this order, in one query."""
    entries = RoundEntry.objects.filter(round=played).order_by(F("place").asc(nulls_last=True), "order")
    players = dict.fromkeys(entries.values_list("player", flat=True))
    return {player: position for position, player in enumerate(players)}


def _sides(pairs: Iterable[_Pair]) -> tuple[set[int], set[int]]:
    return {pair.model for pair in pairs}, {pair.attack for pair in pairs}


Result: TypeAlias = tuple[_Pair, MatchSampleRow]


def _results(pairs: Sequence[_Pair], samples: Sequence[int]) -> Mapping[int, Sequence[Result]]:
    """Return the results of some samples that the outcome uses, by sample, in one query."""
    by_match = {pair.match: pair for pair in pairs}
    found: dict[int, list[Result]] = {}
    for match, row in rows_of_samples(by_match, samples):
        if row.sample < by_match[match].samples:
            found.setdefault(row.sample, []).append((by_match[match], row))
    return found


@dataclass(frozen=True)
class _QueryGalleryLines:
    """What the lines of a page have in common."""

    played: Round
    columns: Sequence[int]
    names: Mapping[int, PlayerName]
    factor: int
    of_attacks: bool
    targeted: bool

    def line(self, sample: int, results: Sequence[Result]) -> GalleryLine:
        """Return the line of a sample: for each column the result with the smallest distance."""
        own: dict[int, Result] = {}
        for pair, row in sorted(results, key=lambda each: (each[1].distance, each[0].match)):
            own.setdefault(pair.attack if self.of_attacks else pair.model, (pair, row))
        known = samples_of(self.played.sample_set)[sample]
        return GalleryLine(
            sample=sample,
            label=self._class(known.label),
            target=self._class(known.target) if self.targeted else "",
            clean=_picture(results[0][0], sample, CLEAN) if results else "",
            cells=[self._cell(*own[player]) if player in own else None for player in self.columns],
        )

    def _cell(self, pair: _Pair, row: MatchSampleRow) -> PerturbationCell:
        drawn = row.outcome == Outcome.ADVERSARIAL
        return PerturbationCell(
            found=self._class(row.found_label),
            perturbed=_picture(pair, row.sample, PERTURBED) if drawn else "",
            difference=_picture(pair, row.sample, difference_name(self.factor)) if drawn else "",
            outcome=row.outcome,
            distance=row.distance,
            queries=row.queries,
            match=pair.match,
            opponent=self.names[pair.model if self.of_attacks else pair.attack],
        )

    def _class(self, label: int | None) -> str:
        return class_name(self.played.sample_set.class_names, label)


def _picture(pair: _Pair, sample: int, name: str) -> str:
    return reverse("pages:match_image", args=[pair.match, sample, name])
