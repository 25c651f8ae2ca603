"""The challenge of 2018."""

from __future__ import annotations

from pages.competition.citation import Origin

_BIBTEX = r"""@incollection{brendel2020adversarial,
  title     = {Adversarial Vision Challenge},
  author    = {Brendel, Wieland and Rauber, Jonas and Kurakin, Alexey and Papernot, Nicolas and Veliqi, Behar and
               Mohanty, Sharada P. and Laurent, Florian and Salath{\'e}, Marcel and Bethge, Matthias and others},
  booktitle = {The {NeurIPS} '18 Competition},
  publisher = {Springer},
  year      = {2020}
}"""


def origin() -> Origin:
    """Return the competition whose rules and scores the format follows."""
    return Origin("They follow the Adversarial Vision Challenge of NeurIPS 2018:", _BIBTEX)
