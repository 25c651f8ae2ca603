"""A superuser uploads images, and a competition takes its samples from them; a refused archive leaves nothing."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from PIL import Image as Picture
from pytest_django import Settings

import demo
from accounts.models import User
from competitions import sample_store, uploaded_data_sets
from competitions.models import Competition, DataSetUpload, UploadedDataSet
from competitions.sample_store import samples_of
from competitions.services import import_competition
from competitions.uploaded_data_sets import prepare_data_sets, sample_sets_text
from core.errors import Refusal
from core.models import Event
from evaluation.datasets.image_archive import ArchiveLimits
from evaluation.datasets.prepared_store import prepare
from tests.platform.other_process import database_url

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock

DIGITS = tomllib.loads(Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8"))
ADD = "admin:competitions_uploadeddataset_add"


def png(number: int, size: tuple[int, int] = (8, 8)) -> bytes:
    file = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (*size, 3), np.uint8)
    Picture.fromarray(pixels).save(file, "png")
    return file.getvalue()


def images(each: int = 40) -> dict[str, bytes]:
    return {f"{name}/{i}.png": png(100 * n + i) for n, name in enumerate(("heron", "owl")) for i in range(each)}


def packed(files: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def send(client: Client, archive: bytes, name: str = "birds", licence: str = "CC BY 4.0, from us") -> Any:
    fields = {"name": name, "licence": licence, "archive": SimpleUploadedFile("images.zip", archive)}
    return client.post(reverse(ADD), fields)


def upload(client: Client, archive: bytes, name: str = "birds", licence: str = "CC BY 4.0, from us") -> Any:
    """Upload, and prepare as a worker does."""
    answer = send(client, archive, name, licence)
    prepare_data_sets()
    return answer


def problem(answer: Any) -> str:
    """Return why the form or, where it was accepted, the worker refused an upload."""
    if answer.status_code == 200:
        return " ".join(error for errors in answer.context["form"].errors.values() for error in errors)
    failed = DataSetUpload.objects.latest("pk")
    assert (failed.state, failed.data_set) == ("failed", None)
    return failed.problem


def folders(settings: Settings) -> list[str]:
    place = Path(settings.STATE) / "data-sets"
    return sorted(each.name for each in place.iterdir()) if place.exists() else []


def leftovers(settings: Settings) -> list[Path]:
    return list((Path(settings.STATE) / "data-set-uploads").glob("*"))


def document(made: UploadedDataSet, slug: str = "birds") -> dict[str, Any]:
    """The digits' competition with the rules and sample sets that the data set's page gives."""
    page = deepcopy(DIGITS)
    part = tomllib.loads(sample_sets_text(made))
    page["competition"] |= {"slug": slug, "smoke_opponent": ""}
    page["rules"] |= part["rules"]
    page["sample_sets"] = part["sample_sets"]
    for track in page["tracks"].values():
        track["baselines"] = []
    return page | {"rounds": []}


def test_a_competition_takes_its_samples_from_uploaded_images(as_superuser: Client, settings: Settings) -> None:
    answer = send(as_superuser, packed(images()))
    assert not UploadedDataSet.objects.exists()
    waiting = as_superuser.get(answer["Location"])
    assert (waiting["Refresh"], "queued" in waiting.content.decode()) == ("3", True)
    prepare_data_sets()
    made = UploadedDataSet.objects.get()
    done = as_superuser.get(answer["Location"])
    assert "Refresh" not in done
    assert "80 of 80" in done.content.decode()
    address = reverse("admin:competitions_uploadeddataset_change", args=[made.pk])
    assert address in done.content.decode()
    assert leftovers(settings) == []
    assert (made.images, made.class_names, made.shape, made.repeated) == (80, ["heron", "owl"], [8, 8, 3], 0)
    assert folders(settings) == [made.digest]
    event = Event.objects.get(verb="upload")
    assert (event.by, event.data["images"]) == (made.uploaded_by, 80)
    page = as_superuser.get(address).content.decode()
    assert "source = &quot;uploaded:birds&quot;" in page
    competition = import_competition(document(made))
    sets = [samples_of(each) for each in competition.sample_sets.order_by("pk")]
    assert [len(each) for each in sets] == [20, 20, 20, 20]
    seen = {sample.image.tobytes() for each in sets for sample in each}
    expected = {np.asarray(Picture.open(io.BytesIO(each))).tobytes() for each in images().values()}
    assert seen == expected


@pytest.mark.parametrize("name", ["query", "transfer", "curves"])
def test_a_competition_of_any_format_is_made_of_a_data_set_without_a_file(as_superuser: Client, name: str) -> None:
    upload(as_superuser, packed(images()))
    page = reverse("admin:competitions_uploadeddataset_make_competition", args=[UploadedDataSet.objects.get().pk])
    entered = {"slug": "birds", "title": "Birds", "format": name, "starts_at": "2027-01-01T12:00"}
    form = as_superuser.post(page, entered | {"ends_at": "2026-01-01T12:00"}).context["form"]
    assert form.errors == {"ends_at": ["It ends before it starts. Choose a later time."]}
    shown = as_superuser.post(page, entered | {"ends_at": "2028-01-01T12:00"}).context["shown"]
    assert not Competition.objects.exists(), "nothing is stored before the confirmation"
    confirmed = {"confirmed": "yes", "text": shown.text, "seen": shown.preview.seen}
    as_superuser.post(reverse("admin:competitions_competition_add"), confirmed)
    made = Competition.objects.get()
    assert (made.format, made.public, made.new_validation_set) == (name, False, False)
    assert made.data_source == "CC BY 4.0, from us"
    assert [each.count for each in made.sample_sets.all()] == [20, 20, 20, 20]
    assert made.rules_versions.get().values["classes"] == 2


def test_repeated_images_are_in_no_part_of_a_competition(as_superuser: Client) -> None:
    copies = {f"train/heron/copy-{number}.png": png(number) for number in range(5)}
    upload(as_superuser, packed({f"train/{name}": each for name, each in images().items()} | copies | {
        f"whole/{name}": each for name, each in images(30).items()
    }))  # fmt: skip
    made = UploadedDataSet.objects.get()
    assert (made.splits, made.repeated) == ({"train": 85, "whole": 60}, 65)
    competition = import_competition(document(made))
    sets = [samples_of(each) for each in competition.sample_sets.order_by("pk")]
    assert [len(each) for each in sets] == [20, 20, 20, 20]
    assert len({sample.image.tobytes() for each in sets for sample in each}) == 80


@pytest.mark.parametrize("around", ["", "mine/"])
def test_a_split_with_a_name_that_no_sample_set_can_have_is_refused_at_once(as_superuser: Client, around: str) -> None:
    name = "validation-images-of-the-birds-of-europe-in-their-first-winter"
    answer = send(as_superuser, packed({f"{around}{name}/{path}": each for path, each in images(2).items()}))
    assert "splits have names of more than 60 characters" in problem(answer)
    assert name in problem(answer)
    send(as_superuser, packed({f"{name[:60]}/{path}": each for path, each in images().items()}))
    prepare_data_sets()
    competition = import_competition(document(UploadedDataSet.objects.get()))
    assert {each.split for each in competition.sample_sets.all()} == {name[:60]}


def test_the_page_of_a_data_set_is_shown_where_its_images_are_not(as_superuser: Client) -> None:
    upload(as_superuser, packed(images()))
    made = UploadedDataSet.objects.get()
    made.folder.rename(made.folder.with_name("elsewhere"))
    page = as_superuser.get(reverse("admin:competitions_uploadeddataset_change", args=[made.pk]))
    assert "count = 20" in page.content.decode()


def test_images_that_the_site_has_are_named(as_superuser: Client) -> None:
    upload(as_superuser, packed(images()))
    competition = import_competition(document(UploadedDataSet.objects.get()))
    upload(as_superuser, packed(images(30) | {"owl/new.png": png(999), "owl/again.png": png(999)}), "more-birds")
    made = UploadedDataSet.objects.get(name="more-birds")
    assert made.repeated == 1
    assert sum(made.shared.values()) == 60
    assert set(made.shared) <= {str(each) for each in competition.sample_sets.all()}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"owl/large.png": png(1, (9, 8))}, "owl/large.png: is 9 x 8 pixels, not 8 x 8"),
        ({"owl/broken.png": b"no image"}, "owl/broken.png: corrupt, or not an image"),
        ({"readme.txt": b"text"}, "outside the folders of classes"),
        ({"../owl/1.png": png(1)}, "outside the folders of classes"),
    ],
    ids=["two sizes", "broken", "unlabelled", "outside"],
)
def test_a_refused_archive_leaves_nothing(
    as_superuser: Client, settings: Settings, files: dict[str, bytes], expected: str
) -> None:
    said = problem(upload(as_superuser, packed(images(2) | files)))
    assert expected in said
    assert str(settings.STATE) not in said
    assert folders(settings) == []
    assert leftovers(settings) == []
    assert not UploadedDataSet.objects.exists()


def test_it_rejects_one_class_no_archive_a_taken_name_and_a_missing_licence(
    as_superuser: Client, settings: Settings
) -> None:
    assert "at least two" in problem(upload(as_superuser, packed({"owl/1.png": png(1)})))
    assert "required" in problem(upload(as_superuser, packed(images(2)), licence=" "))
    assert "valid" in problem(upload(as_superuser, packed(images(2)), name="../birds"))
    upload(as_superuser, packed(images(2)))
    before = UploadedDataSet.objects.get().digest
    assert "there is a data set" in problem(upload(as_superuser, packed(images(3))))
    assert UploadedDataSet.objects.get().digest == before == folders(settings)[0]


@pytest.mark.parametrize(
    ("archive", "limits", "expected"),
    [
        (b"no archive", uploaded_data_sets.LIMITS, "no ZIP file"),
        (packed(images(2))[:-20], uploaded_data_sets.LIMITS, "no ZIP file"),
        (packed(images(2)), ArchiveLimits(files=3), "has 4 files, at most 3"),
        (packed(images(2)), ArchiveLimits(bytes=1 << 10), "more than 0 MiB, unpacked"),
    ],
    ids=["no archive", "cut short", "too many files", "too large"],
)
def test_what_the_list_of_an_archive_shows_is_refused_before_it_is_kept(
    as_superuser: Client, monkeypatch: pytest.MonkeyPatch, archive: bytes, limits: ArchiveLimits, expected: str
) -> None:
    monkeypatch.setattr(uploaded_data_sets, "LIMITS", limits)
    answer = send(as_superuser, archive)
    assert expected in answer.context["form"].errors["archive"][0]
    assert not DataSetUpload.objects.exists()


@pytest.mark.parametrize("ends", ["before it is read", "while it is read"])
def test_an_upload_of_somebody_who_is_no_superuser_any_more_is_refused(
    as_superuser: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    def end(*_: object) -> dict[str, int]:
        User.objects.update(is_superuser=False)
        return {}

    send(as_superuser, packed(images(2)))
    if ends == "while it is read":
        monkeypatch.setattr(uploaded_data_sets, "_shared", end)
    else:
        end()
    prepare_data_sets()
    failed = DataSetUpload.objects.get()
    assert (failed.state, "who is no superuser any more" in failed.problem) == ("failed", True)
    assert not UploadedDataSet.objects.exists()
    assert (folders(settings), leftovers(settings)) == ([], [])


def test_it_rejects_small_files_of_large_images_before_any_is_decoded(
    as_superuser: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploaded_data_sets, "MOST_DECODED", 4 * 8 * 8 * 3)
    broken = images(2) | {"owl/1.png": png(1)[:-20]}
    upload(as_superuser, packed(images(2)))
    assert UploadedDataSet.objects.exists()
    said = problem(upload(as_superuser, packed(images(3) | broken), "more"))
    assert "1,152 bytes of pixels, at most 768" in said
    assert len(folders(settings)) == 1


def test_equal_images_are_prepared_to_the_same_bytes_and_stored_once(as_superuser: Client, settings: Settings) -> None:
    for name in ("birds", "birds-2"):
        upload(as_superuser, packed(images(2)), name)
    (digest,) = folders(settings)
    assert list(UploadedDataSet.objects.values_list("digest", flat=True)) == [digest, digest]


def test_an_import_says_which_upload_is_missing(as_superuser: Client) -> None:
    upload(as_superuser, packed(images()))
    made = UploadedDataSet.objects.get()
    page = document(made)
    made.delete()
    with pytest.raises(Refusal, match="there is no data set uploaded:birds"):
        import_competition(page)
    assert not Competition.objects.exists()


def test_only_superusers_upload(as_organiser: Client, competition: Competition) -> None:
    assert upload(as_organiser, packed(images(2))).status_code == 403
    assert as_organiser.get(reverse("admin:competitions_uploadeddataset_changelist")).status_code == 403
    assert not UploadedDataSet.objects.exists()


def test_uploaded_twice_it_is_prepared_once(as_superuser: Client, settings: Settings) -> None:
    send(as_superuser, packed(images(2)))
    said = problem(send(as_superuser, packed(images(2))))
    assert "an upload of 'birds' is being prepared already. Fix: wait for it, or choose another name." in said
    assert len(leftovers(settings)) == 1
    prepare_data_sets()
    prepare_data_sets()
    assert UploadedDataSet.objects.count() == Event.objects.filter(verb="upload").count() == 1


class Killed(BaseException):
    """Ends the process of a worker."""


def test_after_a_killed_worker_the_next_one_begins_again_and_the_third_is_the_last(
    as_superuser: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    send(as_superuser, packed(images(2)))
    monkeypatch.setattr("competitions.uploaded_data_sets.prepare", killed)
    with pytest.raises(Killed):
        prepare_data_sets()
    upload = DataSetUpload.objects.get()
    assert (upload.state, upload.archive.is_file(), folders(settings)) == ("running", True, [])
    with monkeypatch.context() as restarted:
        restarted.setattr("competitions.uploaded_data_sets.prepare", prepare)
        prepare_data_sets()
    upload.refresh_from_db()
    assert (upload.state, upload.attempts, upload.images) == ("done", 2, 4)
    send(as_superuser, packed(images(3)), "more")
    for _ in range(uploaded_data_sets.MOST_ATTEMPTS):
        with pytest.raises(Killed):
            prepare_data_sets()
    prepare_data_sets()
    assert "3 workers were stopped while they prepared it" in DataSetUpload.objects.get(name="more").problem
    assert leftovers(settings) == []


def test_an_archive_that_a_killed_web_process_left_is_removed_after_a_day(
    as_superuser: Client, settings: Settings
) -> None:
    send(as_superuser, packed(images(2)))
    (kept,) = leftovers(settings)
    unnamed, fresh = kept.with_name("unnamed.zip"), kept.with_name("fresh.zip")
    for path in (unnamed, fresh):
        path.touch()
    for path in (kept, unnamed):
        os.utime(path, (0, 0))
    prepare_data_sets()
    assert DataSetUpload.objects.get().state == "done"
    assert leftovers(settings) == [fresh]


_KILLED = """
import os, signal
import django
django.setup()
from competitions import uploaded_data_sets
uploaded_data_sets.prepare = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
uploaded_data_sets.prepare_data_sets()
"""


@pytest.mark.slow(5)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kills", [1, uploaded_data_sets.MOST_ATTEMPTS])
def test_nothing_stays_of_what_killed_workers_had_unpacked(
    as_superuser: Client, settings: Settings, root: Path, kills: int
) -> None:
    """It may be gigabytes of the site's disk for each, and of each backup."""
    send(as_superuser, packed(images(2)))
    python_path = os.pathsep.join([str(root / "platform"), str(root), str(root / "evaluation" / "sdk")])
    environment = os.environ | {
        "DATABASE_URL": database_url(), "GAUNTLET_STATE": str(settings.STATE), "GAUNTLET_SANDBOX": "process",
        "PYTHONPATH": python_path, "DJANGO_SETTINGS_MODULE": "config.settings",
    }  # fmt: skip
    for _ in range(kills):
        done = subprocess.run([sys.executable, "-c", _KILLED], cwd=root, env=environment, check=False)
        assert done.returncode == -signal.SIGKILL
    assert folders(settings) != []
    prepare_data_sets()
    ended = DataSetUpload.objects.get()
    assert ended.state == ("done" if ended.data_set else "failed")
    assert (ended.data_set is None) == (kills == uploaded_data_sets.MOST_ATTEMPTS)
    assert folders(settings) == ([ended.data_set.digest] if ended.data_set else [])
    assert leftovers(settings) == []


def test_another_process_leaves_an_upload_that_is_being_prepared(as_superuser: Client) -> None:
    send(as_superuser, packed(images(2)))
    upload = DataSetUpload.objects.get()
    with upload.archive.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        prepare_data_sets()
    upload.refresh_from_db()
    assert (upload.state, upload.attempts) == ("queued", 0)


def test_one_whose_archive_is_on_no_host_fails_after_a_day(as_superuser: Client, the_clock: FakeClock) -> None:
    send(as_superuser, packed(images(2)))
    upload = DataSetUpload.objects.get()
    upload.archive.unlink()
    prepare_data_sets()
    upload.refresh_from_db()
    assert upload.state == "queued"
    the_clock.forward(hours=25)
    prepare_data_sets()
    upload.refresh_from_db()
    assert (upload.state, "upload it again" in upload.problem) == ("failed", True)


def test_an_archive_that_cannot_be_read_is_tried_again_later_each_time_and_then_given_up(
    as_superuser: Client, the_clock: FakeClock
) -> None:
    answer = send(as_superuser, packed(images(2)))
    upload = DataSetUpload.objects.get()
    upload.archive.unlink()
    upload.archive.mkdir()  # opening it is an OSError, which is not that of a missing file
    waited = []
    for delay in uploaded_data_sets.RETRY_AFTER:
        prepare_data_sets()
        upload.refresh_from_db()
        assert upload.next_attempt_at is not None
        waited.append(upload.next_attempt_at - the_clock.at)
        assert (upload.state, "tried again at 20" in upload.problem) == ("queued", True)
        prepare_data_sets()  # nothing before its time
        the_clock.forward(seconds=delay.total_seconds())
    assert waited == list(uploaded_data_sets.RETRY_AFTER) == sorted(waited)
    prepare_data_sets()
    upload.refresh_from_db()
    assert (upload.state, upload.given_up, upload.ended_at) == ("failed", True, the_clock.at)
    page = as_superuser.get(answer["Location"]).content.decode()
    assert "Platform errors ended 5 attempts, the last one with IsADirectoryError" in page
    event = Event.objects.get(verb="give_up")
    assert event.sentence == f"The site gave up data set upload {upload.pk}."
    (card,) = as_superuser.get(reverse("admin:index")).context["incidents"]
    assert (card.title, card.count) == ("Uploads of data sets given up", 1)
    assert as_superuser.get(card.link).context["cl"].result_count == 1


def test_after_a_missing_object_an_upload_is_prepared_once_the_object_is_back(
    as_superuser: Client, the_clock: FakeClock
) -> None:
    upload(as_superuser, packed(images()))
    competition = import_competition(document(UploadedDataSet.objects.get()))
    assert competition.sample_sets.exists()
    place = Path(storages["objects"].path(""))
    away = place.rename(place.with_name("away"))
    sample_store._unpack.cache_clear()
    upload(as_superuser, packed(images(30)), "more-birds")
    waiting = DataSetUpload.objects.get(name="more-birds")
    assert (waiting.state, waiting.faults, waiting.archive.is_file()) == ("queued", 1, True)
    away.rename(place)
    the_clock.forward(minutes=1)
    prepare_data_sets()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.problem) == ("done", "")
    assert sum(UploadedDataSet.objects.get(name="more-birds").shared.values()) == 60
