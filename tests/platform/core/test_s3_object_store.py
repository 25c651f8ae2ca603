from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as site
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from config.environment import Environment
from core import clock, object_store
from core.errors import HostFault
from tests.object_server import ObjectServer


def in_bucket(address: str) -> dict[str, object]:
    options = Environment({"GAUNTLET_OBJECTS": address}).bucket("GAUNTLET_OBJECTS")
    return site.STORAGES | {"objects": {"BACKEND": "core.s3_object_store.ObjectBucket", "OPTIONS": options}}


@pytest.fixture(scope="module")
def object_server() -> Iterator[ObjectServer]:
    """An S3 server with an empty bucket."""
    server = ObjectServer()
    yield server
    server.close()


@pytest.fixture
def bucket(object_server: ObjectServer, tmp_path: Path) -> Iterator[ObjectServer]:
    """A folder of this test's own in the bucket."""
    with override_settings(STORAGES=in_bucket(f"{object_server.address}/{tmp_path.name}")):
        yield object_server


@pytest.mark.parametrize("content", [b"", b"a piece", os.urandom(9 << 20)], ids=["empty", "small", "in two parts"])
def test_what_is_stored_is_found_under_its_digest(bucket: ObjectServer, content: bytes, tmp_path: Path) -> None:
    digest = object_store.put(content)

    assert digest == hashlib.sha256(content).hexdigest()
    assert object_store.put(content) == digest
    assert object_store.size(digest) == len(content)
    assert object_store.get(digest) == content
    (tmp_path / "file").write_bytes(content + b"more")
    with object_store.open_object(object_store.put_file(tmp_path / "file")) as file:
        assert file.read(5) == (content + b"more")[:5]
        file.seek(0)
        assert file.read() == content + b"more"
    object_store.remove(digest)
    object_store.remove(digest)
    assert object_store.size(digest) is None


def test_a_missing_object_is_a_fault_of_the_host(bucket: ObjectServer) -> None:
    with pytest.raises(HostFault, match="cannot be read"):
        object_store.get("0" * 64)


def test_areas_list_what_was_stored_before_a_moment(bucket: ObjectServer) -> None:
    assert object_store.stored_before("kept-frames", clock.now() + timedelta(hours=1)) == []
    digest = object_store.put(b"frames", "kept-frames")
    object_store.put(b"elsewhere")
    assert object_store.stored_before("kept-frames", clock.now() + timedelta(hours=1)) == [digest]
    assert object_store.stored_before("kept-frames", clock.now() - timedelta(hours=1)) == []


def test_a_server_that_does_not_answer_or_refuses_is_a_fault_of_the_host(object_server: ObjectServer) -> None:
    refusing = object_server.address.replace("tests:", "nobody:")
    silent = "s3+http://key:secret@127.0.0.1:9/objects"
    for address in (refusing, silent):
        with override_settings(STORAGES=in_bucket(address)):
            for act in (
                object_store.check,
                lambda: object_store.put(b"x"),
                lambda: object_store.get("0" * 64),
                lambda: object_store.size("0" * 64),
                lambda: object_store.stored_before("kept-frames", clock.now()),
            ):
                with pytest.raises(HostFault, match=r"cannot be (written|read|looked up|listed): .* in the bucket"):
                    act()


def _get(digest: str, found: multiprocessing.Queue[bytes]) -> None:
    found.put(object_store.get(digest))


def test_processes_that_are_forked_after_the_first_request_have_connections_of_their_own(bucket: ObjectServer) -> None:
    contents = [os.urandom(1 << 20) for _ in range(4)]
    digests = [object_store.put(content) for content in contents]
    forked = multiprocessing.get_context("fork")
    found = [forked.Queue() for _ in digests]
    processes = [
        forked.Process(target=_get, args=(digest, queue)) for digest, queue in zip(digests, found, strict=True)
    ]
    for process in processes:
        process.start()
    assert [object_store.get(digest) for digest in digests] == contents
    assert [queue.get(timeout=60) for queue in found] == contents
    for process in processes:
        process.join(60)


def test_a_folder_is_copied_into_the_bucket_without_what_is_damaged(bucket: ObjectServer, tmp_path: Path) -> None:
    old = tmp_path / "objects"
    folder = site.STORAGES | {"objects": {"BACKEND": "core.object_store.ObjectFolder", "OPTIONS": {"location": old}}}
    with override_settings(STORAGES=folder):
        plain, kept = object_store.put(b"plain"), object_store.put(b"frames", "kept-frames")
        damaged = object_store.put(b"before")
    (old / damaged[:2] / damaged[2:]).write_bytes(b"after")
    (old / "kept-frames" / ".partial").write_bytes(b"pa")

    for _ in range(2):
        copied = dict(object_store.copy_folder(old))
        assert [name for name, is_object in copied.items() if not is_object] == [
            f"{damaged[:2]}/{damaged[2:]}",
            "kept-frames/.partial",
        ]
    assert (object_store.get(plain), object_store.get(kept, "kept-frames")) == (b"plain", b"frames")
    assert object_store.size(damaged) is None


@pytest.mark.parametrize(
    "address",
    ["/objects", "https://key:secret@host/objects", "s3+https://host/objects", "s3+https://key:secret@host/",
     "s3+https://key:secret@host:port/objects", "s3+https://key:secret@host/objects?acl=public"],
)  # fmt: skip
def test_an_invalid_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="GAUNTLET_OBJECTS is not the address of a bucket") as refused:
        Environment({"GAUNTLET_OBJECTS": address}).bucket("GAUNTLET_OBJECTS")
    assert "secret" not in str(refused.value).replace("KEY:SECRET", "")


def test_an_address_names_server_bucket_folder_and_region() -> None:
    given = "s3+https://ke%2Fy:se%3Acret@s3.eu-central-1.amazonaws.com/arena/site/objects?region=eu-central-1"
    assert Environment({"A": given}).bucket("A") == {
        "endpoint_url": "https://s3.eu-central-1.amazonaws.com",
        "access_key": "ke/y",
        "secret_key": "se:cret",
        "bucket_name": "arena",
        "location": "site/objects",
        "region_name": "eu-central-1",
    }
