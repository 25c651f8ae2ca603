"""Pictures of a smoke test: for the team and the organisers, as its log is, and for thirty days."""

from __future__ import annotations

import io
from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from PIL import Image

from accounts.models import User
from competitions.models import SampleSet
from core import clock, object_store
from evaluation.domain.smoke_test_pictures import PathStep, PicturedSmokeSample
from submissions import smoke_test_pictures
from submissions.models import Build, Submission

CLEAN, NOISY, CLOSER = (np.full((8, 8, 3), level, np.uint8) for level in (100, 200, 110))
PATH = (PathStep(3, 3.14159, 7, NOISY), PathStep(21, 0.54321, 4, CLOSER), PathStep(22, 0.5, 4, None))
FOUND = PicturedSmokeSample(
    label=2, clean=CLEAN, clean_label=2, perturbed=CLOSER, found=4, distance=0.5, queries=50, path=PATH
)
NOTHING = PicturedSmokeSample(label=2, clean=CLEAN, clean_label=2, queries=50)
WRONG = PicturedSmokeSample(label=2, clean=CLEAN, clean_label=7)
MADE = PicturedSmokeSample(label=2, clean=CLEAN, perturbed=CLOSER, target=5)


def finish(submission: Submission, *samples: PicturedSmokeSample) -> Build:
    """Keep the pictures of its smoke test, which ends now."""
    build = submission.builds.get()
    now = clock.database_now()
    Build.objects.filter(pk=build.pk).update(lease_until=now)
    smoke_test_pictures.keep(build, samples)
    build.refresh_from_db()
    Build.objects.filter(pk=build.pk).update(finished_at=now, lease_until=None)
    build.refresh_from_db()
    return build


def page_of(client: Client, submission: Submission) -> str:
    return client.get(reverse("pages:submission", args=[submission.pk])).content.decode()


def address(submission: Submission, name: str, sample: int = 0) -> str:
    return reverse("pages:smoke_picture", args=[submission.pk, 1, sample, name])


def levels(content: bytes) -> set[int]:
    return set(np.unique(np.asarray(Image.open(io.BytesIO(content)))).tolist())


@pytest.fixture
def of_bob(client: Client, bob: User, sample_set: SampleSet) -> Client:
    """Bob's browser, and a development set whose classes have names."""
    sample_set.pk, sample_set.name, sample_set.purpose = None, "development", SampleSet.Purpose.DEVELOPMENT
    sample_set.class_names = [f"class {letter}" for letter in "abcdefghij"]
    sample_set.save()
    client.force_login(bob)
    return client


def test_the_team_sees_images_labels_distances_and_the_path(of_bob: Client, shown: dict[str, Submission]) -> None:
    rejected = shown["rejected"]
    finish(rejected, FOUND, NOTHING, WRONG, MADE)
    page = page_of(of_bob, rejected)
    for text in (
        "Pictures of the smoke test", "class c, labelled class c", "labelled <b>class e</b>", "after 50 queries",
        "largest change of a pixel value: 10.", "The path: 3 queries that came closer", "Query 21", "0.543", "class h",
        "No adversarial found with 50 queries.", "class c, <b>labelled class h</b>", "Wrong on the clean image.",
        "perturbed<br>target class f",
    ):  # fmt: skip
        assert text in page
    assert page.count('data-step="') == 2  # the third step has no image
    shown_levels = [
        levels(of_bob.get(address(rejected, name)).content)
        for name in ("clean", "perturbed", "difference-5", "step-0", "step-1")
    ]
    assert shown_levels == [{100}, {110}, {178}, {200}, {110}]


def test_images_that_no_defence_labels_are_shown_without_a_label(of_bob: Client, shown: dict[str, Submission]) -> None:
    finish(shown["rejected"], MADE)
    page = page_of(of_bob, shown["rejected"])
    assert "which no defence labels in a smoke test" in page
    assert "data-label" not in page


def test_nobody_else_sees_them(client: Client, shown: dict[str, Submission], charlie: User) -> None:
    rejected = shown["rejected"]
    finish(rejected, FOUND)
    for user in (None, charlie):
        if user is not None:
            client.force_login(user)
        assert "Pictures of the smoke test" not in page_of(client, rejected)
        assert client.get(address(rejected, "clean")).status_code == 403


def test_there_is_no_picture_of_an_unknown_sample_step_or_build(of_bob: Client, shown: dict[str, Submission]) -> None:
    rejected = shown["rejected"]
    finish(rejected, FOUND, NOTHING)
    for name, sample in [("step-2", 0), ("step-9", 0), ("difference-7", 0), ("perturbed", 1), ("clean", 2)]:
        assert of_bob.get(address(rejected, name, sample)).status_code == 404, name
    assert of_bob.get(reverse("pages:smoke_picture", args=[rejected.pk, 2, 0, "clean"])).status_code == 404
    assert of_bob.get(address(shown["building"], "clean")).status_code == 404


def test_they_are_removed_after_thirty_days(
    of_bob: Client, shown: dict[str, Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected = shown["rejected"]
    build = finish(rejected, FOUND)
    digest = build.pictures["object"]
    assert smoke_test_pictures.remove_old() == 0
    Build.objects.filter(pk=build.pk).update(finished_at=clock.database_now() - timedelta(days=30, seconds=1))
    assert "Pictures of the smoke test" not in page_of(of_bob, rejected)
    assert of_bob.get(address(rejected, "clean")).status_code == 404
    later = clock.now() + timedelta(days=32)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert smoke_test_pictures.remove_old() == 1
    assert object_store.size(digest, "smoke-pictures") is None


def test_equal_pictures_of_two_builds_do_not_go_together(shown: dict[str, Submission]) -> None:
    older, newer = (finish(shown[name], FOUND) for name in ("rejected", "building"))
    object_store.remove(older.pictures["object"], "smoke-pictures")
    assert smoke_test_pictures.picture(newer, 0, "clean")


def test_a_worker_that_lost_its_build_changes_nothing(shown: dict[str, Submission]) -> None:
    build = shown["rejected"].builds.get()
    smoke_test_pictures.keep(build, [FOUND])
    build.refresh_from_db()
    assert build.pictures == {}
