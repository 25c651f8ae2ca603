"""Addresses of the figures of a round as files."""

from __future__ import annotations

from django.urls import reverse

from rounds.models import Round


def figure_address(shown: Round, name: str, *, svg: bool = False) -> str:
    """Return the address of the numbers of a figure, or of its drawing."""
    page = "figure_svg" if svg else "figure_csv"
    return reverse(f"pages:{page}", args=[shown.competition.slug, shown.number, name])
