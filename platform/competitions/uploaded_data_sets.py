"""Adapter: data sets that superusers upload as archives of images, which workers prepare for competitions."""

from __future__ import annotations

import fcntl
import logging
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from competitions.models import SampleSet
from competitions.sample_store import UPLOADED, image_hash, image_hashes
from competitions.toml_text import written
from competitions.uploaded_data_set_models import UPLOADS_FOLDER, DataSetUpload, UploadedDataSet
from core import clock, event_log, platform_error_report, worker_notifications
from core.errors import Refusal
from core.time_format import in_words
from evaluation.datasets.base import Dataset
from evaluation.datasets.folder import folder as read_folder
from evaluation.datasets.image_archive import ArchiveLimits, check, unpack
from evaluation.datasets.prepared_store import Store, distinct_images, open_store, prepare
from evaluation.domain.errors import DatasetRefusal

if TYPE_CHECKING:
    from accounts.models import User

State = DataSetUpload.State

log = logging.getLogger(__name__)

LIMITS = ArchiveLimits(split_name=SampleSet.MAX_SPLIT)
MOST_DECODED = 16 << 30
"""Bytes of the pixels of all images. A small file can hold a large image of one colour, and this disk is the site's."""
MOST_ATTEMPTS = 3
"""Workers that begin an upload: one that is stopped again and again is given up."""
MOST_WAITING = timedelta(days=1)
"""How long an upload waits for a host that has its archive."""
RETRY_AFTER = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2))
"""How long an upload waits after each platform error; after one more it is given up."""
SHOWN = timedelta(days=7)
"""How long an upload that was given up is an incident, unless its name is uploaded again."""


def request_data_set(*, name: str, licence: str, archive: IO[bytes], by: User) -> DataSetUpload:
    """Keep an uploaded archive, and have a worker prepare its images as the data set `name`.

    Raise `Refusal` if the name is taken, also by an upload that has not ended, and `DatasetRefusal` for what the
    archive's own list of files shows: that it is none, or has too many files or bytes.
    """
    _require_free(name)
    check(archive, LIMITS)
    archive.seek(0)
    upload = DataSetUpload(name=name, licence=licence, uploaded_by=by, uploaded_at=clock.now())
    upload.file_name = f"{secrets.token_hex(16)}.zip"
    upload.archive.parent.mkdir(parents=True, exist_ok=True)
    try:
        with upload.archive.open("xb") as file:
            shutil.copyfileobj(archive, file)
        with transaction.atomic():
            upload.save()
            worker_notifications.notify("competitions.prepare_data_sets")
    except BaseException as error:
        upload.archive.unlink(missing_ok=True)
        if isinstance(error, IntegrityError):  # uploaded twice at once
            raise _is_being_prepared(name) from error
        raise
    return upload


def prepare_data_sets() -> None:
    """Prepare the uploads whose archives are on this host, unless another process does so now.

    The lock of an archive ends with its process: what a stopped worker left begins again with the next call. After a
    platform error an upload waits, longer each time (`RETRY_AFTER`).
    """
    _remove_unrecorded_archives()
    for upload in _due():
        try:
            with upload.archive.open("r+b") as archive:  # NFS locks only what is open for writing
                fcntl.flock(archive, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if held := _due().filter(pk=upload.pk).first():
                    _prepare(held, archive)
        except FileNotFoundError:  # another host has it, or it has ended
            if upload.uploaded_at < clock.now() - MOST_WAITING:
                _give_up(upload, "No host that has the archive prepared it within a day. Fix: upload it again.")
        except BlockingIOError:
            continue
        except OSError as error:
            _try_again(upload, error)


def _remove_unrecorded_archives() -> None:
    """Remove the archives on this host that no upload names: a web process was killed while it copied them."""
    last = time.time() - MOST_WAITING.total_seconds()
    for path in (Path(settings.STATE) / UPLOADS_FOLDER).glob("*.zip"):
        with suppress(OSError):  # another process was faster
            if path.stat().st_mtime >= last:
                continue
            if not DataSetUpload.objects.filter(file_name=path.name, state__in=DataSetUpload.OPEN).exists():
                path.unlink()


def given_up() -> QuerySet[DataSetUpload]:
    """Return the uploads that platform errors ended lately, unless their names were uploaded again."""
    newer = DataSetUpload.objects.filter(name=OuterRef("name"), pk__gt=OuterRef("pk"))
    return DataSetUpload.objects.filter(~Exists(newer), given_up=True, ended_at__gt=clock.now() - SHOWN)


def _due() -> QuerySet[DataSetUpload]:
    due = Q(next_attempt_at=None) | Q(next_attempt_at__lte=clock.now())
    return DataSetUpload.objects.filter(due, state__in=DataSetUpload.OPEN).order_by("pk")


def _prepare(upload: DataSetUpload, archive: IO[bytes]) -> None:
    """Prepare an upload under its lock, and record how that ended."""
    if upload.attempts >= MOST_ATTEMPTS + upload.faults:
        _give_up(upload, f"{MOST_ATTEMPTS} workers were stopped while they prepared it. Fix: ask an operator.")
        return
    upload.state, upload.attempts, upload.images, upload.total = State.RUNNING, upload.attempts + 1, 0, None
    upload.problem = ""
    upload.save()
    try:
        _make_data_set(upload, archive)
    except Refusal as refusal:
        _fail(upload, f"{refusal.problem}\nFix: {refusal.fix}.")
    except Exception as error:
        _try_again(upload, error)
    else:
        _remove_archive(upload)


def _try_again(upload: DataSetUpload, error: Exception) -> None:
    """Let an upload wait after a platform error, or give it up after the last one.

    Nothing changes if another host has begun it since `upload` was read.
    """
    platform_error_report.report(log, error, "%s could not be prepared", upload)
    if upload.faults >= len(RETRY_AFTER):
        _give_up(
            upload,
            f"Platform errors ended {upload.faults + 1} attempts, the last one with {type(error).__name__}. The "
            "operators know of it. Fix: ask them whether it is repaired, then upload the archive again.",
        )
        return
    at = clock.now() + RETRY_AFTER[upload.faults]
    waits = {
        "state": State.QUEUED,
        "faults": F("faults") + 1,
        "next_attempt_at": at,
        "problem": f"A platform error stopped it. The operators know of it. It is tried again at {in_words(at)}.",
    }
    _unchanged(upload).update(**waits)


def _give_up(upload: DataSetUpload, problem: str) -> None:
    """End an upload after platform errors: its page says why, and operators have an event and an incident."""
    with transaction.atomic():
        if not _end(upload, problem, given_up=True):
            return
        event_log.record("give_up", upload, reason=problem, name=upload.name)
    log.error("%s was given up: %s", upload, problem)
    _remove_archive(upload)


def _fail(upload: DataSetUpload, problem: str) -> None:
    if _end(upload, problem, given_up=False):
        _remove_archive(upload)


def _end(upload: DataSetUpload, problem: str, *, given_up: bool) -> bool:
    """Record that an upload ended without a data set; return False if another host has changed it meanwhile."""
    ended = {"state": State.FAILED, "problem": problem, "given_up": given_up, "ended_at": clock.now()}
    return bool(_unchanged(upload).update(**ended))


def _unchanged(upload: DataSetUpload) -> QuerySet[DataSetUpload]:
    begun = {"attempts": upload.attempts, "faults": upload.faults}
    return DataSetUpload.objects.filter(pk=upload.pk, state__in=DataSetUpload.OPEN, **begun)


def _remove_archive(upload: DataSetUpload) -> None:
    """Remove the archive of an upload that has ended, and what a worker that was stopped has left beside it."""
    try:
        upload.archive.unlink(missing_ok=True)
    except OSError as error:  # the upload has ended; only the space is lost
        platform_error_report.report(log, error, "the archive of %s cannot be removed", upload)
    shutil.rmtree(_scratch_folder(upload), ignore_errors=True)


@contextmanager
def _scratch(upload: DataSetUpload) -> Iterator[Path]:
    """Yield an empty folder for the images of an upload, which goes at the end: who has the archive's lock has it."""
    folder = _scratch_folder(upload)
    shutil.rmtree(folder, ignore_errors=True)  # of a worker that was stopped
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _scratch_folder(upload: DataSetUpload) -> Path:
    return Path(settings.STATE) / "data-sets" / f".{upload.archive.stem}"


def _make_data_set(upload: DataSetUpload, archive: IO[bytes]) -> None:
    """Prepare the images of an archive, and record them as a data set. Nothing is left of a refused one.

    Raise `Refusal` that lists what is wrong with the archive, if the name is taken, or if the person who uploaded it
    may not do so any more.
    """
    made = UploadedDataSet(
        name=upload.name, licence=upload.licence, uploaded_by=upload.uploaded_by, uploaded_at=upload.uploaded_at
    )
    _require_uploader(upload)
    with _scratch(upload) as folder:
        store, prepared = _prepared(archive, folder, _Progress(upload))
        dataset = open_store(prepared, UPLOADED)
        made.splits, made.class_names, made.shape = store.splits, list(dataset.class_names), list(store.shape)
        made.bytes, made.digest, made.repeated = store.bytes, store.sha256, store.repeated
        made.shared = _shared(dataset)
        with transaction.atomic():
            _record(upload, made)
            try:
                prepared.rename(made.folder)
            except OSError:
                if not made.folder.is_dir():  # else equal images were prepared before, or just now by somebody else
                    raise


def _record(upload: DataSetUpload, made: UploadedDataSet) -> None:
    _require_uploader(upload)
    _require_no_data_set(made.name)
    made.save()
    event_log.record("upload", made, by=made.uploaded_by, name=made.name, images=made.images, digest=made.digest)
    upload.state, upload.data_set, upload.ended_at = State.DONE, made, clock.now()
    upload.images = upload.total = made.images
    upload.save()


class _Progress:
    """Records the progress of an upload, at most once in `SECONDS`."""

    SECONDS = 1.0

    def __init__(self, upload: DataSetUpload) -> None:
        self._rows = DataSetUpload.objects.filter(pk=upload.pk)
        self._images, self._recorded = 0, -self.SECONDS

    def __call__(self, split: str, total: int) -> None:
        """Count an image of a split; `total` is the number of those of all splits."""
        self._images += 1
        if time.monotonic() >= self._recorded + self.SECONDS:
            self._recorded = time.monotonic()
            self._rows.update(images=self._images, total=total)


def _require_free(name: str) -> None:
    _require_no_data_set(name)
    if DataSetUpload.objects.filter(name=name, state__in=DataSetUpload.OPEN).exists():
        raise _is_being_prepared(name)


def _require_no_data_set(name: str) -> None:
    if UploadedDataSet.objects.filter(name=name).exists():
        raise Refusal(f"there is a data set {name!r} already", fix="choose another name")


def _require_uploader(upload: DataSetUpload) -> None:
    """Raise `Refusal` unless the person who uploaded it still may: a role can end while a worker reads images."""
    may = Q(pk=upload.uploaded_by_id, is_superuser=True, is_staff=True, is_active=True)
    if not get_user_model().objects.filter(may).exists():
        name = upload.uploaded_by.username if upload.uploaded_by else "an account that was deleted"
        raise Refusal(f"{name} uploaded it, who is no superuser any more", fix="have a superuser upload it again")


def _is_being_prepared(name: str) -> Refusal:
    return Refusal(f"an upload of {name!r} is being prepared already", fix="wait for it, or choose another name")


def sample_sets_text(made: UploadedDataSet) -> str:
    """Return the tables of a competition's file that take their images from the set."""
    rules = {"shape": made.shape, "classes": len(made.class_names)}
    return written({"rules": rules, "sample_sets": sample_set_tables(made)})


def sample_set_tables(made: UploadedDataSet) -> list[dict[str, Any]]:
    """Return the sample sets of a competition's file that take their images from the set: parts of a secret order.

    They share no image. A set of one split gives a part of it to each purpose; with several, an organiser chooses.
    Repeated images are not counted, since a secret order leaves them out.
    """
    split, images = max(_distinct_images(made).items(), key=lambda item: item[1])
    count = images // len(SampleSet.Purpose)
    return [
        {
            "name": purpose.value,
            "purpose": purpose.value,
            "source": made.source,
            "split": split,
            "order": SampleSet.Order.SECRET.value,
            "skip": number * count,
            "count": count,
            "target_seed": number + 1,
        }
        for number, purpose in enumerate(SampleSet.Purpose)
    ]


def _distinct_images(made: UploadedDataSet) -> dict[str, int]:
    try:
        return distinct_images(made.folder)
    except DatasetRefusal:  # not on this host: an import says so
        return dict(made.splits)


def _prepared(archive: IO[bytes], folder: Path, on_image: Callable[[str, int], None]) -> tuple[Store, Path]:
    """Unpack the archive below `folder`, and prepare its images there; return their store, and where it is."""
    unpacked, prepared = folder / "archive", folder / "prepared"
    unpacked.mkdir()
    unpack(archive, unpacked, LIMITS)
    try:
        dataset = read_folder(unpacked)
        pixels = sum(dataset.read(split).size for split in dataset.splits) * dataset.shape.size
        if pixels > MOST_DECODED:
            raise Refusal(
                f"the images have {pixels:,} bytes of pixels, at most {MOST_DECODED:,} are allowed",
                fix="make them smaller, or leave images out",
            )
        return prepare(dataset, UPLOADED, prepared, on_image=on_image), prepared
    except DatasetRefusal as refusal:  # nobody needs to know the site's folder
        raise DatasetRefusal(refusal.problem.replace(str(unpacked), "the archive"), fix=refusal.fix) from refusal


def _shared(dataset: Dataset) -> dict[str, int]:
    """Return how many images each sample set of the site has, too; only those that share any."""
    own = {image_hash(sample) for split in dataset.splits for sample in dataset.read(split).samples}
    counted = {}
    for each in SampleSet.objects.select_related("competition"):
        if number := len(own & image_hashes(each)):
            counted[str(each)] = number
    return counted
