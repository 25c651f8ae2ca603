"""The track of the curves format."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from competitions.formats import TrackSide, TrackSpec
from evaluation.domain.players import TrackName

MODEL = TrackName.MODEL.value

TRACKS = (TrackSpec(MODEL, gettext_noop("model"), TrackSide.DEFENCE),)
