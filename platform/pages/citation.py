"""How to cite a competition: a BibTeX entry."""

from __future__ import annotations

import re

from competitions.models import Competition

_SPECIAL = re.compile(r"[\\{}$&#%_~^]")
_WORDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}

_CHALLENGE_2018 = r"""@incollection{brendel2020adversarial,
  title     = {Adversarial Vision Challenge},
  author    = {Brendel, Wieland and Rauber, Jonas and Kurakin, Alexey and Papernot, Nicolas and Veliqi, Behar and
               Mohanty, Sharada P. and Laurent, Florian and Salath{\'e}, Marcel and Bethge, Matthias and others},
  booktitle = {The {NeurIPS} '18 Competition},
  publisher = {Springer},
  year      = {2020}
}"""

_COMPETITION_2017 = r"""@incollection{kurakin2018adversarial,
  title     = {Adversarial Attacks and Defences Competition},
  author    = {Kurakin, Alexey and Goodfellow, Ian and Bengio, Samy and Dong, Yinpeng and Liao, Fangzhou and
               Liang, Ming and Pang, Tianyu and Zhu, Jun and Hu, Xiaolin and Xie, Cihang and others},
  booktitle = {The {NIPS} '17 Competition: Building Intelligent Systems},
  publisher = {Springer},
  year      = {2018}
}"""


def origin(competition: Competition) -> str:
    """Return the BibTeX entry of the paper whose rules and scores the format of the competition follows."""
    return _COMPETITION_2017 if competition.format == Competition.Format.TRANSFER else _CHALLENGE_2018


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
