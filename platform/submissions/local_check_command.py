"""The command that plays a competition's smoke test on a participant's own computer, and what it needs to know."""

from __future__ import annotations

import shlex
from typing import Any

from django.conf import settings

from competitions.models import Competition
from competitions.rules import least_accuracy
from competitions.sample_set_selectors import development_set
from competitions.selectors import rules_in_force
from submissions.formats import submission_formats

UNPUBLISHED = "unpublished"
"""Stands for an opponent that the organisers keep to themselves."""


def local_check(competition: Competition, *, site: str = "", seed: int | None = None) -> str:
    """Return the command that plays the smoke test of `competition`, with its rules, images, opponent and `seed`.

    `site` is the address of the site as the reader knows it. A competition that is not public has no address for the
    command, and some formats have a smoke test that it cannot play: then it is the check without a competition.
    """
    words = ["gauntlet", "check"]
    if competition.public and submission_formats.of(competition).played_by_command:
        words += ["--competition", f"{site or settings.SITE_ADDRESS}/competitions/{competition.slug}"]
    if seed is not None:
        words += ["--seed", str(seed)]
    return shlex.join([*words, "."])


def published_smoke_test(competition: Competition) -> dict[str, Any]:
    """Return the rules, the images and the opponent of the smoke test, without paths of this host."""
    version, images = rules_in_force(competition), development_set(competition)
    return {
        "rules": version.engine_rules.as_dict(),
        "least_accuracy": least_accuracy(version.values),
        "opponent": UNPUBLISHED if competition.smoke_opponent_digest else competition.smoke_opponent,
        "samples": {
            "source": images.source.partition(":")[0],
            "split": images.split,
            "order": images.order,
            "skip": images.skip,
            "count": images.count,
            "target_seed": images.target_seed,
        },
    }
