"""Images of 299 x 299 pixels through the smoke test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.platform.any_images.conftest import MODEL, TARGETED, UNTARGETED, write_images

if TYPE_CHECKING:
    from tests.platform.any_images.conftest import Site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(15)]


def test_a_model_and_attacks_pass(site: Site) -> None:
    write_images(site.folder / "images", side=299, counts={"development": 1, "validation": 1})
    site.import_competition(side=299, samples={"development": 3, "validation": 3})
    assert "Warning: the smoke test uses only 3 images." in site.output
    for kind, program in (("model", MODEL.format(tint=0)), ("untargeted", UNTARGETED), ("targeted", TARGETED)):
        submission = site.submit(f"team-{kind}", kind, program)
        assert submission.state == "ready", submission.problem
