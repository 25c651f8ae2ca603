"""The archives of proofs: what a stranger uploads, and what the site keeps.

An upload is an .npz with the arrays `indices` int (n,) and `images` uint8 (n, height, width, channels), or a JSON
object with `indices`, a list of n numbers, and `images`, the bytes of the same array in base64. An index is the number
of an image in its round, from 0.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import math
import zipfile
import zlib
from dataclasses import dataclass
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.errors import Refusal
from evaluation.domain.images import Images, ImageShape

MOST_PIXEL_BYTES = 128 << 20
"""The most bytes of the images of an upload, not compressed."""

_NAMES = ("indices", "images")
_MEMBERS = tuple(f"{name}.npy" for name in _NAMES)
_HEADER_BYTES = 4096
"""The most bytes of the header of an array; NumPy writes 128."""

_MOST_ENTRIES = 1000
_WHAT_TO_SEND = (
    "upload an .npz with the arrays indices and images, or a JSON object with indices and images, as the page shows"
)
_HOW_TO_WRITE = "write it with numpy.savez_compressed(path, indices=indices, images=images)"
_HOW_TO_NUMBER = "name for each image the number of its clean image in the round"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, LookupError)
"""What `zipfile` raises for an archive that is damaged, encrypted or compressed in a way that it does not know."""


@dataclass(frozen=True, eq=False)
class ProofImages:
    """Images of a proof, (n, height, width, channels), and to which images of the round they belong, ascending (n,)."""

    indices: NDArray[np.int64]
    images: Images


def parse(fields: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Parse an upload for `evaluation.parsing.limited_process`; the answer is the archive that the site keeps.

    `fields` are the `count` of images of the round and their `shape`.
    """
    proof = read_upload(body, count=int(fields["count"]), shape=ImageShape(*fields["shape"]))
    return {"images": len(proof.indices)}, encode(proof)


def read_upload(content: bytes, *, count: int, shape: ImageShape) -> ProofImages:
    """Return the images of an upload for a round of `count` images. Raise `Refusal` naming the first thing wrong.

    No pickle is read, and nothing is decompressed beyond the size of `count` images.
    """
    if content.startswith(b"PK"):
        indices, images = _npz(content, count, shape)
    elif content.lstrip()[:1] == b"{":
        indices, images = _json(content, count, shape)
    else:
        raise Refusal("the upload is neither an .npz nor a JSON object", fix=_WHAT_TO_SEND)
    _check_indices(indices, count)
    order = np.argsort(indices)
    return ProofImages(indices[order], images[order])


def encode(proof: ProofImages) -> bytes:
    """Return the archive of a proof, an .npz. Equal proofs give equal bytes."""
    file = io.BytesIO()
    np.savez_compressed(file, indices=proof.indices, images=proof.images)
    return file.getvalue()


def decode(content: bytes) -> ProofImages:
    """Return the proof of an archive of `encode`."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return ProofImages(file["indices"], file["images"])


def _npz(content: bytes, count: int, shape: ImageShape) -> tuple[NDArray[np.int64], Images]:
    entries = content.count(b"PK\x01\x02")  # pixels may look like an entry, but hardly ever
    if entries > _MOST_ENTRIES:  # each would take a kilobyte when the archive is opened
        raise Refusal(f"the archive has {entries:,} entries", fix=_HOW_TO_WRITE)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = {each.filename: each for each in archive.infolist()}
            if sorted(found) != sorted(_MEMBERS) or len(archive.infolist()) != len(_MEMBERS):
                names = ", ".join(sorted(found)[:5])[:200]
                raise Refusal(f"the archive has {len(archive.infolist()):,} entries ({names})", fix=_HOW_TO_WRITE)
            of_indices, of_images = (_header(archive, found[name]) for name in _MEMBERS)
            _check_headers(of_indices, of_images, count, shape)
            indices, images = (_array(archive, each) for each in (of_indices, of_images))
    except _DAMAGED as error:
        raise Refusal(f"the archive cannot be read: {error}", fix=_WHAT_TO_SEND) from error
    wrong = indices[(indices < 0) | (indices >= count)]
    if len(wrong):
        raise _out_of_range(int(wrong[0]), count)
    return indices.astype(np.int64), images


class _ArrayHeader(NamedTuple):
    """What an array in the .npy format says of itself; its values begin at `start`."""

    name: str
    shape: tuple[int, ...]
    fortran: bool
    kind: np.dtype[Any]
    start: int


def _header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _ArrayHeader:
    """Read the header of an array. Raise `Refusal` if its values are no numbers, or of another size than the member."""
    name = member.filename.removesuffix(".npy")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others expand without a limit
        raise Refusal(f"{name} is compressed by another method than deflate", fix=_HOW_TO_WRITE)
    with archive.open(member) as file:
        beginning = io.BytesIO(file.read(_HEADER_BYTES))
    try:
        version = np.lib.format.read_magic(beginning)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} of the .npy format")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, kind = read(beginning, max_header_size=_HEADER_BYTES)
        if kind.hasobject:
            raise ValueError("Python objects, which are not read")
        if kind.kind not in "iufb":
            raise ValueError(f"values of the type {kind}")
        start = beginning.tell()
        if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != member.file_size - start:
            raise ValueError(f"shape {shape}, which is not what follows")
    except (ValueError, SyntaxError, TokenError, TypeError, RecursionError, OverflowError) as error:
        raise Refusal(f"the array {name} cannot be read: {error}", fix=_HOW_TO_WRITE) from error
    return _ArrayHeader(name, shape, fortran, kind, start)


def _check_headers(indices: _ArrayHeader, images: _ArrayHeader, count: int, shape: ImageShape) -> None:
    """Raise `Refusal` for arrays of other types or shapes, before they are decompressed."""
    if len(indices.shape) != 1 or indices.kind.kind not in "iu":
        raise Refusal(f"indices is {indices.kind} {indices.shape}, not whole numbers (n,)", fix=_HOW_TO_NUMBER)
    _check(indices.shape[0], images.shape, images.kind, count, shape)


def _array(archive: zipfile.ZipFile, header: _ArrayHeader) -> NDArray[Any]:
    array = np.frombuffer(archive.read(f"{header.name}.npy"), header.kind, offset=header.start)
    return array.reshape(header.shape, order="F" if header.fortran else "C")


def _json(content: bytes, count: int, shape: ImageShape) -> tuple[NDArray[np.int64], Images]:
    try:
        value = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"this is no JSON: {str(error)[:200] or 'it is nested too deeply'}", fix=_WHAT_TO_SEND) from error
    if not isinstance(value, dict) or set(value) != set(_NAMES):
        raise Refusal("the JSON object does not have the keys indices and images alone", fix=_WHAT_TO_SEND)
    numbers, text = value["indices"], value["images"]
    if not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
        raise Refusal(
            "indices is no list of whole numbers",
            fix=_HOW_TO_NUMBER,
        )
    if not isinstance(text, str):
        raise Refusal("images is no text in base64", fix="write base64.b64encode(images.tobytes()).decode()")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refusal(
            f"images is no text in base64: {error}", fix="write base64.b64encode(images.tobytes()).decode()"
        ) from error
    _check(len(numbers), (len(numbers), *shape), np.dtype(np.uint8), count, shape)
    if len(raw) != len(numbers) * shape.size:
        raise Refusal(
            f"images has {len(raw):,} bytes, but {len(numbers):,} images of {tuple(shape)} have "
            f"{len(numbers) * shape.size:,}",
            fix="write the bytes of a uint8 array (n, height, width, channels)",
        )
    wrong = next((each for each in numbers if not 0 <= each < count), None)
    if wrong is not None:
        raise _out_of_range(wrong, count)
    return np.array(numbers, np.int64), np.frombuffer(raw, np.uint8).reshape(-1, *shape)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _check(number: int, found: tuple[int, ...], kind: np.dtype[Any], count: int, shape: ImageShape) -> None:
    """Raise `Refusal` unless images of this shape and type are `number` images of the round."""
    if kind != np.uint8:
        raise Refusal(
            f"images is {kind}, not uint8: its values are no pixels from 0 to 255",
            fix="round them to 8 bits: (images * 255).round().astype(numpy.uint8), if their values are from 0 to 1",
        )
    if number > count:
        raise Refusal(
            f"there are {number:,} images, but the round has {count:,}",
            fix="upload at most one image for each clean image",
        )
    if not number:
        raise Refusal("there are no images", fix="upload at least one")
    if number * shape.size > MOST_PIXEL_BYTES:
        raise Refusal(
            f"the images have {number * shape.size >> 20:,} MiB of pixels, more than {MOST_PIXEL_BYTES >> 20}",
            fix="upload them in parts",
        )
    if found != (number, *shape):
        raise Refusal(
            f"images is {found}, not {(number, *shape)}: (n, height, width, channels), n as in indices",
            fix="name one index for each image, and put the channels last",
        )


def _check_indices(indices: NDArray[np.int64], count: int) -> None:
    values, times = np.unique(indices, return_counts=True)
    if (times > 1).any():
        raise Refusal(
            f"the index {values[times > 1][0]} is there more than once", fix="upload one image for each clean image"
        )


def _out_of_range(index: int, count: int) -> Refusal:
    shown = index if abs(index) < 10**18 else "of more than 18 digits"
    return Refusal(
        f"there is no image {shown}: the round has {count:,} images, from 0 to {count - 1:,}",
        fix="use the numbers in the names of the released images",
    )
