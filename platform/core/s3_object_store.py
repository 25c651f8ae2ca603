"""Object store in an S3 bucket, for sites whose hosts share no folder."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from storages.backends.s3 import S3Storage

_SPOOLED_BYTES = 8 << 20
"""Larger objects are downloaded to a temporary file on the disk."""

CLIENT = Config(
    # not every server knows buckets as names of hosts, or the newest checksums; callers compare digests
    s3={"addressing_style": "path"},
    signature_version="s3v4",
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
    connect_timeout=5,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 4},
)


class ObjectBucket(S3Storage):  # type: ignore[misc]
    """A bucket whose failures are `OSError`s, as those of a folder are. An object is complete there, or missing."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options, client_config=CLIENT, querystring_auth=False, file_overwrite=True)
        # a program connects before it forks its workers, and two processes must not write to one connection
        os.register_at_fork(after_in_child=self._forget_connections)

    def exists(self, name: str) -> bool:
        """Return True if there is an object `name`."""
        with _os_errors(name):
            return bool(super().exists(name))

    def size(self, name: str) -> int:
        """Return the number of bytes of an object."""
        with _os_errors(name):
            return int(super().size(name))

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""
        with _os_errors(name):
            super().delete(name)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        """Return the names of the folders and of the objects directly below `path`."""
        with _os_errors(path):
            folders, names = super().listdir(path)
            return list(folders), list(names)

    def get_modified_time(self, name: str) -> datetime:
        """Return when an object was stored."""
        with _os_errors(name):
            stored: datetime = super().get_modified_time(name)
            return stored

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        """Download an object whole, so that nothing can fail while it is read."""
        file = tempfile.SpooledTemporaryFile(max_size=_SPOOLED_BYTES)  # noqa: SIM115 - the caller closes it
        try:
            with _os_errors(name):
                key = self._normalize_name(name)
                self.bucket.Object(key).download_fileobj(file, Config=self.transfer_config)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return File(file, name)

    def _save(self, name: str, content: File[bytes]) -> str:
        with _os_errors(name):
            return str(super()._save(name, content))

    def _forget_connections(self) -> None:
        self._bucket = None
        self._connections = threading.local()


@contextmanager
def _os_errors(name: str) -> Iterator[None]:
    """Raise what the client of S3 raises as an `OSError`; a missing object as `FileNotFoundError`."""
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        raise (FileNotFoundError if status == 404 else OSError)(f"{name} in the bucket: {error}") from error
    except (BotoCoreError, Boto3Error) as error:
        raise OSError(f"{name} in the bucket: {error}") from error
