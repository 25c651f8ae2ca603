"""Adapter: image layers of players in the object store, where every host finds them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import IO

from django.db.models import Q

from core import object_store
from evaluation.builder.image_archive import is_determined, layer_names, own_layers
from submissions.extension_points import players_in_records
from submissions.models import Player


class ObjectLayers:
    """A `LayerStore` in the object store of the site."""

    def has(self, digest: str) -> bool:
        """Return True if an object is stored under `digest`."""
        return object_store.size(digest) is not None

    def put(self, file: Path) -> str:
        """Store a copy of `file`; return its digest."""
        return object_store.put_file(file)

    def open(self, digest: str) -> IO[bytes]:
        """Open an object; the engine verifies the content by its digest."""
        return object_store.open_object(digest)

    def image_of(self, recipe: str) -> str | None:
        """Return the image of the first player of this recipe that the store has."""
        players = Player.objects.exclude(image="").order_by("pk")
        if not (images := list(players.filter(digest=recipe).values_list("image", flat=True))):
            return None
        if found := self._stored(images):
            return found
        others = players.values_list("digest", "image")
        return self._stored([image for digest, image in others if digest == digest_of_second_build(recipe, image)])

    def _stored(self, images: Sequence[str]) -> str | None:
        return next(filter(image_is_stored, dict.fromkeys(images)), None)


def image_is_stored(image: str) -> bool:
    """Return True if the store has the configuration of a player's image and all layers on top of its base image."""
    config = _config(image)
    return config is not None and all(object_store.size(_hexadecimal(name)) is not None for name in own_layers(config))


def is_decided_by_recipe(image: str) -> bool:
    """Return True if the store has the configuration of an image, whose content its recipe alone decides."""
    config = _config(image)
    return config is not None and is_determined(config)


def digest_of_second_build(recipe: str, image: str) -> str:
    """Return the digest of the player of a recipe whose first image is gone: a new build is another player."""
    return f"sha256:{hashlib.sha256(f'{recipe} {image}'.encode()).hexdigest()}"


def remove_layers(needed: set[str], base_image: str, *, newer_than: datetime) -> int:
    """Remove the stored images of players that are not `needed`, old and in no record; return the number of files.

    needed: digests of players. base_image: an image that is always kept. Layers that a kept image shares are kept.
    """
    stays = Q(digest__in=needed) | Q(created_at__gt=newer_than)
    for players in players_in_records.answers():
        stays |= Q(pk__in=players)
    with_image = Player.objects.exclude(image="")
    staying = set(with_image.filter(stays).values_list("image", flat=True)) | {base_image}
    leaving = set(with_image.exclude(stays).values_list("image", flat=True)) - staying
    shared = {name for image in staying for name in _files(image)}
    removed = 0
    for image in leaving:
        # the configuration last: until then the rest of the image can be found
        files = [name for name in _files(image) if name not in shared]
        for digest in sorted(files, key=lambda name: name == _hexadecimal(image)):
            object_store.remove(digest)
            removed += 1
    return removed


def _files(image: str) -> set[str]:
    """Return the objects of one image, its configuration and layers; none if it is not in the store."""
    config = _config(image)
    return set() if config is None else {_hexadecimal(image), *map(_hexadecimal, layer_names(config))}


def _config(image: str) -> bytes | None:
    if object_store.size(_hexadecimal(image)) is None:
        return None
    with object_store.open_object(_hexadecimal(image)) as file:
        return file.read()


def _hexadecimal(name: str) -> str:
    return name.removeprefix("sha256:")
