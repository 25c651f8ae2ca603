"""The competition of 2017."""

from __future__ import annotations

from pages.competition.citation import Origin

_BIBTEX = r"""@incollection{kurakin2018adversarial,
  title     = {Adversarial Attacks and Defences Competition},
  author    = {Kurakin, Alexey and Goodfellow, Ian and Bengio, Samy and Dong, Yinpeng and Liao, Fangzhou and
               Liang, Ming and Pang, Tianyu and Zhu, Jun and Hu, Xiaolin and Xie, Cihang and others},
  booktitle = {The {NIPS} '17 Competition: Building Intelligent Systems},
  publisher = {Springer},
  year      = {2018}
}"""


def origin() -> Origin:
    """Return the competition whose rules and scores the format follows."""
    return Origin("They follow the Adversarial Attacks and Defences Competition of NIPS 2017:", _BIBTEX)
