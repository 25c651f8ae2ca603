"""Adapter: the layers of players' images among the site's objects, where every host finds them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from django.db.models import Q

from core import object_store
from evaluation.builder.image_archive import layer_names
from submissions.models import Player


class ObjectLayers:
    """A `LayerStore` of the site's objects."""

    def has(self, digest: str) -> bool:
        """Whether an object is kept under `digest`."""
        return object_store.path_of(digest).is_file()

    def put(self, file: Path) -> str:
        """Keep a copy of `file`; its digest."""
        return object_store.put_file(file)

    def path(self, digest: str) -> Path:
        """Where the object lies; what it holds is checked by the engine, which knows layers by their digest."""
        return object_store.path_of(digest)


def remove_layers(needed: set[str], base_image: str, *, newer_than: datetime) -> int:
    """Remove the stored images of players that are not `needed`, old, and took part in no round; how many files.

    needed: digests of players. base_image: an image that stays all the same. Layers that an image which stays shares
    with another one stay, too.
    """
    stays = Q(digest__in=needed) | Q(round_entries__isnull=False) | Q(created_at__gt=newer_than)
    with_image = Player.objects.exclude(image="")
    staying = set(with_image.filter(stays).values_list("image", flat=True)) | {base_image}
    leaving = set(with_image.exclude(stays).values_list("image", flat=True)) - staying
    shared = {name for image in staying for name in _files(image)}
    removed = 0
    for image in leaving:
        # the configuration last: while it is there, what is left of the image can be found
        files = [name for name in _files(image) if name not in shared]
        for digest in sorted(files, key=lambda name: name == _hexadecimal(image)):
            object_store.remove(digest)
            removed += 1
    return removed


def _files(image: str) -> set[str]:
    """The objects of one image: its configuration and its layers; none where it is not in the store."""
    path = object_store.path_of(_hexadecimal(image))
    if not path.is_file():
        return set()
    return {_hexadecimal(image), *map(_hexadecimal, layer_names(path.read_bytes()))}


def _hexadecimal(name: str) -> str:
    return name.removeprefix("sha256:")
