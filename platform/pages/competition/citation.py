"""How to cite a competition: a BibTeX entry."""

from __future__ import annotations

import re
from dataclasses import dataclass

from competitions.models import Competition

_SPECIAL = re.compile(r"[\\{}$&#%_~^]")
_WORDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


@dataclass(frozen=True)
class Origin:
    """The competition whose rules and scores a format follows: a sentence that names it, and its BibTeX entry."""

    text: str
    bibtex: str


def bibtex(competition: Competition, address: str, site_name: str) -> str:
    """Return the organisers' BibTeX entry, or one made from title, dates and the `address` of the competition."""
    if competition.citation.strip():
        return competition.citation.replace("\r\n", "\n").strip()
    years = sorted({competition.starts_at.year, competition.ends_at.year})
    return "\n".join(
        [
            f"@misc{{{competition.slug}{competition.starts_at.year},",
            f"  title        = {{{{{_escaped(competition.title)}}}}},",
            f"  year         = {{{competition.starts_at.year}}},",
            f"  howpublished = {{\\url{{{address}}}}},",
            f"  note         = {{Competition on {_escaped(site_name)}, {'--'.join(map(str, years))}}}",
            "}",
        ]
    )


def _escaped(text: str) -> str:
    """Return text with the special characters of TeX escaped."""
    return _SPECIAL.sub(lambda found: _WORDS.get(found[0], f"\\{found[0]}"), text)
