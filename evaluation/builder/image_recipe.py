"""Recipes: all inputs that decide the content of an image, and the image name that follows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluation.builder.allowed_dockerfile_images import check_images
from evaluation.builder.build_context_tar import ContextEntry, tree_context
from evaluation.builder.build_pack_detection import DOCKERFILE, LEAN, detect_pack, dockerfile_of, render_pack
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.dockerfile_parser import MAX_DOCKERFILE_BYTES
from evaluation.builder.lean_build_pack import INSTALL_SCRIPT, MET_SCRIPT, OPERATOR_DIRECTORY, lean_dockerfile
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import BuildRefusal

_RECIPE_FILE = "gauntlet.Dockerfile"

_VERSION = "3"
"""Increase it when the builder makes a different image of the same inputs."""


@dataclass(frozen=True)
class ImageRecipe:
    """How to build one submission. `dockerfile` is its text, `file` the Dockerfile's path in the context."""

    pack: str
    source: Path
    dockerfile: str
    file: str
    digest: str
    arguments: tuple[tuple[str, str], ...] = ()
    files: tuple[ContextEntry, ...] = ()

    def context(self, settings: BuildSettings, sdk: Path) -> Iterator[ContextEntry]:
        """Yield the build context, with the SDK from the directory `sdk` if the recipe needs it."""
        if self.pack == DOCKERFILE:
            yield from tree_context(self.source)
            return
        yield ContextEntry(self.file, self.dockerfile.encode())
        yield from self.files
        yield from tree_context(self.source, "src")
        if self.pack == LEAN:
            yield from tree_context(sdk, "sdk")
            yield from operator_files(settings)


def image_name(digest: str) -> str:
    """Return `gauntlet/` and the first sixteen hexadecimal digits of a recipe's digest."""
    return f"gauntlet/{digest.removeprefix('sha256:')[:16]}"


def make_recipe(source: Path, settings: BuildSettings, *, base_id: str, sdk_digest: str) -> ImageRecipe:
    """Return the recipe for `source`, equal for equal tree, base image and SDK. Raise `BuildRefusal`.

    `base_id` is the id of the base image, so that a new base image under the old name gives new images.
    """
    pack = detect_pack(source, settings.base_python)
    file = _RECIPE_FILE
    arguments: tuple[tuple[str, str], ...] = ()
    files: tuple[ContextEntry, ...] = ()
    if pack == LEAN:
        dockerfile = lean_dockerfile(source, settings.base_image)
    elif pack == DOCKERFILE:
        file = dockerfile_of(source)
        content = dockerfile_content(source, file)
        check_images(content, name=file, allowed=settings.images())
        dockerfile = content.decode()
    else:
        rendered = render_pack(source, pack, settings.base_image)
        dockerfile, arguments, files = rendered.dockerfile, rendered.arguments, rendered.files
        # its text contains parts of the repository's files
        check_images(dockerfile.encode(), name=f"repo2docker's {pack}", allowed=settings.images())
    digest = _digest([_VERSION, pack, dockerfile, repr(arguments), tree_digest(source), base_id, sdk_digest])
    return ImageRecipe(pack, source, dockerfile, file, digest, arguments, files)


def dockerfile_content(source: Path, file: str) -> bytes:
    """Return the bytes of the Dockerfile at `file` below `source`. Raise `BuildRefusal` if it is not a plain file."""
    path = source / file
    if not path.is_file() or path.resolve() != source.resolve() / file:
        raise BuildRefusal(f"{file} is not a plain file", fix="replace it by a plain file, or remove it")
    with path.open("rb") as opened:
        return opened.read(MAX_DOCKERFILE_BYTES + 1)


def operator_files(settings: BuildSettings) -> Iterator[ContextEntry]:
    """Yield the operator's settings as files for the installing steps of a lean build."""
    yield ContextEntry(f"{OPERATOR_DIRECTORY}/install", INSTALL_SCRIPT, executable=True)
    yield ContextEntry(f"{OPERATOR_DIRECTORY}/{MET_SCRIPT}", Path(__file__).with_name(MET_SCRIPT).read_bytes())
    certificates = settings.certificates.read_bytes() if settings.certificates else b""
    yield ContextEntry(f"{OPERATOR_DIRECTORY}/certificates.pem", certificates)
    links = settings.find_links
    if links and Path(links).is_dir():
        for wheel in sorted(Path(links).glob("*.whl")):
            yield ContextEntry(f"{OPERATOR_DIRECTORY}/wheels/{wheel.name}", wheel)
        links = f"/run/{OPERATOR_DIRECTORY}/wheels"
    options = {"index-url": settings.index_url, "extra-index-url": settings.extra_index_url, "find-links": links}
    lines = ["[global]", *(f"{name} = {value}" for name, value in options.items() if value)]
    yield ContextEntry(f"{OPERATOR_DIRECTORY}/pip.conf", ("\n".join(lines) + "\n").encode())


def _digest(parts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        whole.update(b"%d " % len(encoded) + encoded)
    return f"sha256:{whole.hexdigest()}"
