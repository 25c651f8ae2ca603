"""Pages and terms in a competition's file."""

from __future__ import annotations

from collections.abc import Mapping

from accounts.models import User
from competitions.competition_file_reader import TERMS
from competitions.models import Competition, Page
from competitions.organiser_pages import drop_page, keep_page
from competitions.selectors import terms_in_force
from competitions.terms import keep_terms


def save_pages(competition: Competition, texts: Mapping[str, str], by: User | None) -> None:
    """Save the texts of a file by name. An empty text removes a page or ends the terms."""
    for name, text in texts.items():
        if name == TERMS:
            if text.strip() or terms_in_force(competition):
                keep_terms(competition=competition, text=text, by=by)
        elif text.strip():
            keep_page(competition=competition, name=name, text=text, by=by)
        elif page := Page.objects.filter(competition=competition, name=name).first():
            drop_page(page=page, by=by)


def written_pages(competition: Competition) -> dict[str, str]:
    """Return the texts that an export writes: those of the pages, and of the terms in force."""
    pages = {page.name: page.text for page in competition.pages.all()}
    terms = terms_in_force(competition)
    return pages | {TERMS: terms.text} if terms else pages
