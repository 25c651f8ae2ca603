"""Pictures to share (`og:image`): the best of each track of a leaderboard, competition or round, 1200 x 630 PNG."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from PIL import Image, ImageDraw, ImageFont

from competitions.models import Competition, Track
from core import optional_cache
from pages.board.freeze_notice import freezes_of
from pages.formats import page_formats
from rounds.models import Round
from rounds.selectors import standings

SIZE = (1200, 630)
MOST = 5
_KEPT_SECONDS = 86_400

_GROUND, _INK, _QUIET, _LINE, _ACCENT = "#fbfaf6", "#151b29", "#565d6d", "#d9d7cf", "#00696b"
_MARGIN, _TABLE_TOP, _ROW = 64, 236, 56


@dataclass(frozen=True)
class SharedRow:
    """A row of the picture: place, team and score as text."""

    place: str
    team: str
    score: str


@dataclass(frozen=True)
class SharedColumn:
    """A track with its first rows; `colour` is that of its title."""

    title: str
    colour: str
    rows: Sequence[SharedRow]


@dataclass(frozen=True)
class SharePicture:
    """What the picture says. It is drawn from public data only, for organisers as well."""

    title: str
    subtitle: str
    columns: Sequence[SharedColumn]

    def png(self) -> bytes:
        """Return it as PNG: drawn once for what it says, then kept."""
        key = f"share-picture:{hashlib.sha256(repr(self).encode()).hexdigest()}"
        kept: str | None = optional_cache.get(key)
        if kept is None:
            kept = base64.b64encode(self._drawn()).decode()  # the cache keeps JSON
            optional_cache.put(key, kept, _KEPT_SECONDS)
        return base64.b64decode(kept)

    def _drawn(self) -> bytes:
        picture = Image.new("RGB", SIZE, _GROUND)
        draw = ImageDraw.Draw(picture)
        draw.rectangle((0, 0, SIZE[0], 12), fill=_ACCENT)
        draw.text(
            (_MARGIN, 56), _fitting(draw, self.title, _font(60, 750), SIZE[0] - 2 * _MARGIN), _INK, _font(60, 750)
        )
        draw.text((_MARGIN, 140), _fitting(draw, self.subtitle, _font(32), SIZE[0] - 2 * _MARGIN), _QUIET, _font(32))
        gap = 48
        width = (SIZE[0] - 2 * _MARGIN - gap * (len(self.columns) - 1)) / max(1, len(self.columns))
        for number, column in enumerate(self.columns):
            _draw_column(draw, column, round(_MARGIN + number * (width + gap)), round(width))
        draw.text((SIZE[0] - _MARGIN, SIZE[1] - 24), settings.SITE_NAME, _INK, _font(28, 750), anchor="rs")
        written = io.BytesIO()
        picture.save(written, "PNG", optimize=True)
        return written.getvalue()


def of_site() -> SharePicture:
    """Return the picture of the site."""
    return SharePicture(settings.SITE_NAME, "Robust models and adversarial attacks compete", [])


def of_board(track: Track) -> SharePicture:
    """Return the picture of a public leaderboard."""
    return SharePicture(track.title, track.competition.title, _columns(track.competition, [track]))


def of_competition(competition: Competition) -> SharePicture:
    """Return the picture of a competition: its public leaderboards."""
    return SharePicture(competition.title, competition.summary, _columns(competition, competition.tracks.all()))


def of_round(played: Round) -> SharePicture:
    """Return the picture of a round: its winners once it is published, before that only what it is."""
    competition = played.competition
    columns: list[SharedColumn] = []
    if played.state == Round.State.PUBLISHED:
        part, rows = page_formats.of(competition), standings(played)
        columns = [
            SharedColumn(
                track.title,
                part.colours[track.name],
                [part.shared_winner(row) for row in rows[track.name][:MOST] if row.place],
            )
            for track in competition.tracks.all()
        ]
    return SharePicture(played.title, competition.title, columns)


def _columns(competition: Competition, tracks: Iterable[Track]) -> list[SharedColumn]:
    """Return the first rows of the public leaderboards of tracks."""
    part, shown = page_formats.of(competition), list(tracks)
    rows = part.shared_rows(shown, freezes_of([competition], AnonymousUser()), MOST)
    return [SharedColumn(track.title, part.colours[track.name], rows[track.pk]) for track in shown]


def _draw_column(draw: ImageDraw.ImageDraw, column: SharedColumn, left: int, width: int) -> None:
    draw.rectangle((left, _TABLE_TOP - 12, left + width, _TABLE_TOP - 8), fill=column.colour)
    head = _font(30, 700)
    draw.text((left, _TABLE_TOP), _fitting(draw, column.title, head, width), column.colour, head)
    text, number = _font(28), _font(28, 700)
    for position, row in enumerate(column.rows):
        y = _TABLE_TOP + 56 + position * _ROW
        draw.line((left, y - 4, left + width, y - 4), fill=_LINE, width=2)
        used = draw.textlength(row.score, number)
        draw.text((left, y + 8), row.place, _QUIET, text)
        draw.text((left + 40, y + 8), _fitting(draw, row.team, text, width - used - 56), _INK, text)
        draw.text((left + width, y + 8), row.score, _INK, number, anchor="ra")


def _font(size: int, weight: int = 400) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(settings.ROOT / "static/fonts/atkinson-next.woff2", size)
    font.set_variation_by_axes([weight])
    return font


def _fitting(draw: ImageDraw.ImageDraw, text: str, font: Any, width: float) -> str:
    """Return the text in one line, shortened until it fits into the width."""
    text = " ".join(text.split())  # that of a competition's file may have several lines
    if draw.textlength(text, font) <= width:
        return text
    while text and draw.textlength(f"{text}\N{HORIZONTAL ELLIPSIS}", font) > width:
        text = text[:-1]
    return f"{text.rstrip()}\N{HORIZONTAL ELLIPSIS}"
