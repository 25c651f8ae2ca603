"""How to cite a competition: a BibTeX entry."""

from __future__ import annotations

import re

from competitions.models import Competition

_SPECIAL = re.compile(r"[\\{}$&#%_~^]")
_WORDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}

CHALLENGE = r"""@incollection{brendel2020adversarial,
  title     = {Adversarial Vision Challenge},
  author    = {Brendel, Wieland and Rauber, Jonas and Kurakin, Alexey and Papernot, Nicolas and Veliqi, Behar and
               Mohanty, Sharada P. and Laurent, Florian and Salath{\'e}, Marcel and Bethge, Matthias and others},
  booktitle = {The {NeurIPS} '18 Competition},
  publisher = {Springer},
  year      = {2020}
}"""
"""The challenge whose rules and scores the site follows."""


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
