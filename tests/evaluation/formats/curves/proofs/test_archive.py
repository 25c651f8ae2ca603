"""Archives of proofs: what is read, what is refused and why, and what is never decompressed or allocated."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from evaluation.domain.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.formats.curves.proofs.archive import decode, encode, parse, read_upload
from evaluation.parsing.limited_process import LimitedProcess, LimitExceededError

SHAPE, COUNT = ImageShape(4, 4, 3), 6
IMAGES = np.arange(2 * SHAPE.size, dtype=np.uint8).reshape(2, *SHAPE)


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def as_npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def as_json(**values: Any) -> bytes:
    text = base64.b64encode(IMAGES.tobytes()).decode()
    return json.dumps({"indices": [5, 2], "images": text} | values).encode()


def with_header(text: str) -> bytes:
    """Return an .npz whose images have this header."""
    head = text.encode().ljust(118) + b"\n"
    images = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + IMAGES.tobytes()
    return zipped({"indices.npy": as_npy(np.array([0, 1])), "images.npy": images})


@pytest.mark.parametrize("content", [npz(indices=np.array([5, 2]), images=IMAGES), as_json()])
def test_npz_and_json_of_the_same_images_are_one_proof(content: bytes) -> None:
    proof = read_upload(content, count=COUNT, shape=SHAPE)
    assert proof.indices.tolist() == [2, 5]
    assert (proof.images == IMAGES[::-1]).all()
    kept = encode(proof)
    assert kept == parse({"count": COUNT, "shape": list(SHAPE)}, content)[1]
    assert (decode(kept).images == proof.images).all()


def test_images_in_the_order_of_fortran_are_read() -> None:
    content = npz(indices=np.array([0, 1], np.uint8), images=np.asfortranarray(IMAGES))
    assert (read_upload(content, count=COUNT, shape=SHAPE).images == IMAGES).all()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "neither an .npz nor a JSON object"),
        (b"\x80\x04pickle", "neither an .npz nor a JSON object"),
        (b"PK\x03\x04", "the archive cannot be read"),
        (npz(images=IMAGES), "the archive has 1 entries"),
        (npz(indices=[0, 1], images=IMAGES, more=[1]), "the archive has 3 entries"),
        (zipped({f"{number}.png": b"" for number in range(3)}), "the archive has 3 entries"),
        (b"PK\x03\x04" + b"PK\x01\x02" * 10**6, "the archive has 1,000,000 entries"),
        (npz(indices=[0, 6], images=IMAGES), "there is no image 6: the round has 6 images, from 0 to 5"),
        (npz(indices=[0, -1], images=IMAGES), "there is no image -1"),
        (npz(indices=np.array([0, 2**63], np.uint64), images=IMAGES), "there is no image of more than 18 digits"),
        (npz(indices=[1, 1], images=IMAGES), "the index 1 is there more than once"),
        (npz(indices=[0.0, 1.0], images=IMAGES), "indices is float64"),
        (npz(indices=[True, False], images=IMAGES), "indices is bool"),
        (npz(indices=[[0], [1]], images=IMAGES), "indices is int64 (2, 1)"),
        (npz(indices=[0], images=IMAGES), "images is (2, 4, 4, 3), not (1, 4, 4, 3)"),
        (npz(indices=np.zeros(0, int), images=IMAGES[:0]), "there are no images"),
        (npz(indices=[0, 1], images=IMAGES.transpose(0, 3, 1, 2)), "images is (2, 3, 4, 4)"),
        (npz(indices=[0, 1], images=IMAGES[:, :2]), "images is (2, 2, 4, 3)"),
        (npz(indices=[0, 1], images=IMAGES / np.float32(255)), "float32, not uint8: its values are no pixels"),
        (npz(indices=[0], images=np.full((1, *SHAPE), 300, np.int16)), "images is int16, not uint8"),
        (npz(indices=np.array([None, 1]), images=IMAGES), "Python objects, which are not read"),
        (npz(indices=["a", "b"], images=IMAGES), "values of the type <U1"),
        (npz(indices=np.zeros(10**6, int), images=IMAGES), "there are 1,000,000 images, but the round has 6"),
        (npz(indices=[0, 1], images=np.zeros((500, *SHAPE), np.uint8)), "images is (500, 4, 4, 3), not (2, 4, 4, 3)"),
        (npz(indices=[0, 1, 2, 3, 4, 5, 0], images=np.zeros((7, *SHAPE), np.uint8)), "there are 7 images"),
        (zipped({"indices.npy": b"", "images.npy": b""}), "the array indices cannot be read"),
        (zipped({"indices.npy": b"", "images.npy": b""}, zipfile.ZIP_LZMA), "another method than deflate"),
        (with_header("{'descr': '|u1', 'fortran_order': False, 'shape': (10**9, 10**9)}"), "images cannot be read"),
        (with_header("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999, 99999999)}"), "not what follows"),
        (with_header("{'descr': '|u1', 'fortran_order': False, 'shape': (-1, -96)}"), "not what follows"),
        (with_header("(" * 100), "images cannot be read"),
        (b"{" * 10**6, "this is no JSON"),
        (b'{"indices": ' + b"[" * 10**6, "this is no JSON"),
        (b'{"indices": NaN}', "this is no JSON"),
        (b'{"indices": [' + b"9" * 10**4 + b"]}", "this is no JSON"),
        (b'{"indices": [1]}', "does not have the keys indices and images alone"),
        (as_json(more=1), "does not have the keys indices and images alone"),
        (as_json(indices=[1, 2.5]), "indices is no list of whole numbers"),
        (as_json(indices=[1, True]), "indices is no list of whole numbers"),
        (as_json(indices=7), "indices is no list of whole numbers"),
        (as_json(indices=[0] * 10**6), "there are 1,000,000 images, but the round has 6"),
        (as_json(indices=[1]), "images has 96 bytes, but 1 images of (4, 4, 3) have 48"),
        (as_json(indices=[1, 10**30]), "there is no image of more than 18 digits"),
        (as_json(images=[[0.5]]), "images is no text in base64"),
        (as_json(images="?"), "images is no text in base64"),
        (as_json(images="\N{SNOWMAN}"), "images is no text in base64"),
    ],
)  # fmt: skip
def test_what_is_no_proof_is_refused_with_cause_and_fix(content: bytes, problem: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_upload(content, count=COUNT, shape=SHAPE)
    assert problem in refused.value.problem
    assert refused.value.fix


def test_a_member_that_lies_about_its_size_is_refused() -> None:
    content = bytearray(zipped({"indices.npy": as_npy(np.array([0])), "images.npy": bytes(10**6)}))
    real, said = (10**6).to_bytes(4, "little"), (150).to_bytes(4, "little")
    with pytest.raises(Refusal, match="the archive cannot be read: Bad CRC-32"):
        read_upload(bytes(content).replace(real, said), count=COUNT, shape=SHAPE)


def test_a_proof_is_parsed_in_a_process_with_limits() -> None:
    parser = "evaluation.formats.curves.proofs.archive:parse"
    fields = {"count": COUNT, "shape": list(SHAPE)}
    many = json.dumps({"indices": [], "images": "", "more": [{}] * 3 * 10**6}).encode()
    with LimitedProcess(parser, seconds=20, memory_bytes=1 << 28) as process:
        answer, kept = process.ask(fields, as_json())
        assert answer == {"images": 2}
        assert decode(kept).indices.tolist() == [2, 5]
        with pytest.raises(Refusal, match="more than once"):
            process.ask(fields, as_json(indices=[1, 1]))
        with pytest.raises(LimitExceededError):
            process.ask(fields, many)
