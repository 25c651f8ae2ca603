"""Builder of images: detection by repo2docker, the site's own lean pack, each build in its own container."""

from __future__ import annotations

import contextlib
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from io import FileIO
from pathlib import Path
from typing import IO, Any

from docker.errors import ImageNotFound

from evaluation.builder.allowed_submission_files import tree_entries
from evaluation.builder.base import Builder, LogLine
from evaluation.builder.build_container import BuildContainer, sweep
from evaluation.builder.build_context_tar import ContextEntry, tree_context, with_directories
from evaluation.builder.build_folder import build_folder
from evaluation.builder.build_guards import BuildGuards
from evaluation.builder.build_limits import BuildWatch, check_disk, limits, too_large
from evaluation.builder.build_pack_detection import LEAN
from evaluation.builder.chunks_as_file import FileStream
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.exported_layers import Exported, TooLargeError, UnreadableError, room_after
from evaluation.builder.image_archive import (
    DIGEST_LABEL,
    BuiltConfig,
    ImageArchive,
    compose_config,
    docker_archive,
    holds_directories_only,
    layer_names,
    saved_layers,
    write_layer,
)
from evaluation.builder.image_recipe import RECIPE_FILE, ImageRecipe, Installation, image_name, make_recipe
from evaluation.builder.installed_layer_cache import InstalledLayerCache
from evaluation.builder.layer_store import LayerStore
from evaluation.builder.lean_build_steps import SDK_DIRECTORY, WORK_DIRECTORY
from evaluation.builder.manifest import read_manifest
from evaluation.builder.mirror_proxy import MirrorProxy
from evaluation.builder.run_script_check import require_script
from evaluation.domain.errors import BuildRefusal, Fault, HostFault, ImageFault, SlowBuildRefusal
from evaluation.domain.players import QueryPlayer
from evaluation.sandbox.base import Guard
from evaluation.sandbox.docker_engine import connect_engine
from evaluation.sandbox.docker_run import as_fault
from evaluation.sandbox.sdk_tree import SDK

_CONTAINERD_STORE = "io.containerd.snapshotter.v1"

Image = dict[str, Any]
"""The engine's description of an image."""


@dataclass(frozen=True)
class _Installed:
    """What the installing steps of a recipe gave, now or in an earlier build."""

    exported: Exported
    key: str = ""
    """The key under which it is to be kept, once the engine has loaded it; "" if it is not."""
    is_reused: bool = False


class DockerBuilder(Builder):
    """Builds submissions into images of the local engine, each in a container that sees nothing of the engine.

    The image of a recipe is called `gauntlet/<digest>`; if the engine or the store has it already, nothing is built. A
    store keeps its layers, so that every host plays the same image and not another build of the same recipe. A cache
    keeps what was installed, for builds of the same owner.
    """

    def __init__(
        self,
        settings: BuildSettings | None = None,
        *,
        store: LayerStore | None = None,
        cache: InstalledLayerCache | None = None,
    ) -> None:
        """Connect to the engine; raise `Fault` if none answers."""
        self._settings, self._reach = (settings or BuildSettings()).reach()
        self._store = store
        self._cache = cache
        self._client = connect_engine()
        weakref.finalize(self, self._client.close)

    def build(self, source: Path, *, on_log: LogLine) -> QueryPlayer:
        """Build the submission in `source`; the player's digest is that of its recipe.

        Its `image` is the identity of the image; another build of the same recipe has another identity.
        """
        entries = tree_entries(source)
        manifest = read_manifest(source)
        require_script(manifest.run, [str(entry.path) for entry in entries])
        digest, image = self.build_image(source, on_log=on_log)
        return QueryPlayer(
            name=manifest.title,
            track=manifest.track,
            command=manifest.run,
            digest=digest,
            image=image,
            gpu=manifest.gpu,
        )

    def build_image(self, source: Path, *, on_log: LogLine) -> tuple[str, str]:
        """Return the digest of the recipe of `source`, and the identity of its image, whatever its manifest says.

        Raise `BuildRefusal` or `Fault`.
        """
        base = self._base_image()
        recipe = make_recipe(source.resolve(), self._settings, base_id=base["Id"], sdk_digest=SDK.digest())
        image = self._present(recipe.digest) or self._fetched(recipe.digest)
        if image is None:
            image = self._make(recipe, base, on_log)
        else:
            on_log("the image is already built")
        return recipe.digest, image

    def check_host(self) -> None:
        self._builder_image(self._base_image())
        with as_fault("reading its image store"):
            check_image_store(self._engine)
        check_disk(self._disk())

    def has(self, identity: str) -> bool:
        """Return True if this engine has the image `identity`."""
        return self._inspect(identity) is not None

    def identity(self, name: str) -> str | None:
        """Return the identity of the image `name`, which stays the same when the name is given to another one."""
        image = self._inspect(name)
        return None if image is None else str(image["Id"])

    def fetch(self, identity: str) -> None:
        """Load the image `identity` from the store if the engine does not have it.

        Raise `ImageFault` if the store answers that it does not have it, and `HostFault` if it does not answer or this
        host has none.
        """
        if self._inspect(identity) is not None:
            return
        if self._store is None:
            raise HostFault(f"the image {identity} is not on this engine, and this host has no layer store")
        if not self._store.has(_hexadecimal(identity)):
            raise ImageFault(f"the image {identity} is neither on this engine nor in the layer store")
        with self._store.open(_hexadecimal(identity)) as file:
            config = file.read()
        # if the engine has the base image, it needs only the layers on top
        base = self._inspect(self._settings.base_image)
        known = base["RootFS"]["Layers"] if base else []
        names = layer_names(config)
        needed = names[len(known) :] if names[: len(known)] == known else names
        for name in needed:
            if not self._store.has(_hexadecimal(name)):
                raise ImageFault(f"the layer {name} of the image {identity} is not in the layer store")
        self._load(config, {name: partial(self._store.open, _hexadecimal(name)) for name in needed}, identity)

    def keep(self, identity: str) -> None:
        """Put all layers of the image `identity` into the store; `build` puts only those that it made."""
        if self._store is None or self._kept(identity):
            return
        with build_folder() as folder, as_fault(f"saving {identity}"):
            stream = self._client.images.get(identity).save()
            config, files = saved_layers(FileStream(stream), folder)
            for name in dict.fromkeys(layer_names(config)):
                if not self._store.has(_hexadecimal(name)):
                    self._store.put(files[name])
            self._put_config(config, folder)

    def keep_base_image(self) -> str:
        """Store the layers of this host's base image for hosts that have another one. Return its identity."""
        identity = str(self._base_image()["Id"])
        self.keep(identity)
        return identity

    def _kept(self, identity: str) -> bool:
        digest = _hexadecimal(identity)
        if self._store is None or not self._store.has(digest):
            return False
        with self._store.open(digest) as file:
            return all(self._store.has(_hexadecimal(name)) for name in layer_names(file.read()))

    def _put_config(self, config: bytes, folder: Path) -> None:
        # last: a stored configuration implies that the layers on the base image are stored
        if self._store is not None:
            file = folder / "configuration"
            file.write_bytes(config)
            self._store.put(file)

    def guards(self) -> list[Guard]:
        """Try all guards of builds on this host. Raise `Fault` if no build can run."""
        return self._guards(self._base_image()).prove()

    def _guards(self, base: Image) -> BuildGuards:
        names = self._settings.base_image, self._builder_image(base)
        with as_fault("reading its identity"):
            engine = self._engine["ID"]
        return BuildGuards(self._client, engine, *names, base["RootFS"]["Layers"], self._disk())

    def _base_image(self) -> Image:
        base = self._inspect(self._settings.base_image)
        if base is None:
            raise HostFault(f"the base image {self._settings.base_image} is not on this engine: run `make base-image`")
        return base

    def _builder_image(self, base: Image) -> str:
        name = builder_image_name(base["Id"])
        if self._inspect(name) is None:
            raise HostFault(f"the builder image {name} is not on this engine: run `make base-image`")
        return name

    def _inspect(self, name: str) -> Image | None:
        with as_fault(f"looking for image {name}"):
            try:
                found: Image = self._client.images.get(name).attrs
            except ImageNotFound:
                return None
        return found

    def _present(self, digest: str) -> str | None:
        image = self._inspect(image_name(digest))
        labels = (image or {}).get("Config", {}).get("Labels") or {}
        return str(image["Id"]) if image and labels.get(DIGEST_LABEL) == digest else None

    def _fetched(self, digest: str) -> str | None:
        """Return the image of a recipe from the store, loaded and named; None if the store does not have all of it."""
        identity = None if self._store is None else self._store.image_of(digest)
        if identity is None:
            return None
        try:
            self.fetch(identity)
        except ImageFault:
            return None
        self._name(identity, digest)
        return identity

    def _name(self, identity: str, digest: str) -> None:
        with as_fault("naming an image"):
            self._client.api.tag(identity, image_name(digest))

    def _make(self, recipe: ImageRecipe, base: Image, on_log: LogLine) -> str:
        self.check_host()
        sweep(self._client)
        self._guards(base).require()
        on_log(f"building with the {recipe.pack} pack")
        with contextlib.ExitStack() as stack:
            sdk = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gauntlet-sdk-")))
            SDK.write(sdk)
            folder = stack.enter_context(build_folder())
            installed, determined = None, False
            if recipe.is_copied:
                installed = self._installed(recipe.installation, base, folder, on_log)
                determined = all(map(holds_directories_only, installed.exported.layers.values()))
                exported = self._with_files(installed.exported, recipe.source, folder)
            else:
                mirrors = self._settings.mirror_arguments() if recipe.pack != LEAN else ()
                context = recipe.context(self._settings, sdk)
                exported = self._build(recipe.file, recipe.arguments + mirrors, context, base, folder, on_log)
            # two hosts may build equal content at once: what the second one stored would belong to no player
            if (first := self._fetched(recipe.digest)) is not None:
                on_log("another host has built the image meanwhile")
                return first
            image = self._composed(recipe, base, sdk, folder, exported, determined=determined)
            self._load_built(image, base, installed)
            if self._store is not None:
                for path in image.layers.values():
                    self._store.put(path)
                self._put_config(image.config, folder)
            self._name(image.identity, recipe.digest)  # only after all checks
            if self._cache and installed and installed.key:
                self._cache.put(installed.key, installed.exported, on_log=on_log)
            return image.identity

    def _installed(self, installation: Installation | None, base: Image, folder: Path, on_log: LogLine) -> _Installed:
        """Return what the installing steps of a recipe give, kept from an earlier build or made in a container."""
        base_layers = base["RootFS"]["Layers"]
        room = limits(self._settings)
        if installation is None:
            config = base["Config"]
            environment, volumes = tuple(config.get("Env") or ()), tuple(config.get("Volumes") or ())
            return _Installed(Exported(BuiltConfig(tuple(base_layers), environment, "", volumes), {}, room))
        key = ""
        if self._cache and not installation.has_addresses:
            key = installation.key(self._settings, self._reach, owner=self._cache.owner, base_id=base["Id"])
            kept = folder / "kept"
            kept.mkdir()
            try:
                found = self._cache.find(key, base_layers=base_layers, room=room, into=kept, on_log=on_log)
            except TooLargeError:
                raise too_large("the image is too large", self._settings) from None
            if found:
                return _Installed(found, is_reused=True)
        context = installation.context(self._settings)
        return _Installed(self._build(RECIPE_FILE, (), context, base, folder, on_log), key)

    def _with_files(self, installed: Exported, source: Path, folder: Path) -> Exported:
        """Return `installed` with a layer of the repository on top, which the site writes itself."""
        path = folder / "files.tar"
        name = write_layer(with_directories(tree_context(source, WORK_DIRECTORY.lstrip("/"))), path)
        try:
            room = room_after(path, installed.room, len(installed.layers))
        except TooLargeError:
            raise too_large("the image is too large", self._settings) from None
        except UnreadableError as failure:  # a file of more than 8 GiB
            raise BuildRefusal(
                f"the files of the repository make no readable image: {failure}", fix="use smaller files"
            ) from failure
        config = replace(installed.config, layers=(*installed.config.layers, name), directory=WORK_DIRECTORY)
        return Exported(config, installed.layers | {name: path}, room)

    def _build(
        self,
        file: str,
        arguments: tuple[tuple[str, str], ...],
        context: Iterable[ContextEntry],
        base: Image,
        folder: Path,
        on_log: LogLine,
    ) -> Exported:
        """Build the Dockerfile `file` of `context` in a container; return its layers as files of `folder`."""
        settings = self._settings
        base_layers = base["RootFS"]["Layers"]
        with contextlib.ExitStack() as stack:
            proxy = None
            if settings.network == "mirrors":
                proxy = stack.enter_context(MirrorProxy(self._reach, settings.certificates))
            container = stack.enter_context(
                BuildContainer(
                    self._client,
                    settings,
                    image=self._builder_image(base),
                    proxy=proxy.directory if proxy else None,
                )
            )
            within_limits = BuildWatch(settings, self._disk(), container.used)

            def watch() -> None:
                for notice in proxy.notices() if proxy else ():
                    on_log(notice)
                within_limits()

            try:
                container.build(file, arguments, context, on_log, watch)
            except BuildRefusal as refusal:
                # also at the time limit: pip asks a mirror that is away again and again
                if proxy and (away := proxy.unreachable_mirrors()):
                    raise Fault(f"package mirrors are unreachable: {', '.join(away)}") from refusal
                if isinstance(refusal, SlowBuildRefusal):
                    raise
                self.check_host()
                self._guards(base).require_build()
                raise
            try:
                return container.export(folder, base_layers, watch)
            except TooLargeError:
                raise too_large("the image is too large", settings) from None
            except UnreadableError as failure:
                # the host or the build is the cause: the build, if a probe image can be read
                self._require_export(base)
                raise BuildRefusal(
                    f"the build produced no readable image: {failure}",
                    fix="do not change the builder's processes or its folder /store",
                ) from failure

    def _require_export(self, base: Image) -> None:
        """Raise `Fault` if this host, in its present state, may be the cause of a result that cannot be read."""
        self.check_host()
        self._guards(base).require_export()

    def _composed(
        self, recipe: ImageRecipe, base: Image, sdk: Path, folder: Path, exported: Exported, *, determined: bool
    ) -> ImageArchive:
        top = folder / "sdk.tar"
        name = write_layer(tree_context(sdk, SDK_DIRECTORY.lstrip("/")), top)
        config = compose_config(
            exported.config,
            [*exported.config.layers, name],
            digest=recipe.digest,
            architecture=base["Architecture"],
            made_at=datetime.now(UTC),
            base_layers=base["RootFS"]["Layers"],
            determined=determined,
        )
        return ImageArchive(config, exported.layers | {name: top})

    def _load_built(self, image: ImageArchive, base: Image, installed: _Installed | None) -> None:
        """Load a built image. Raise `BuildRefusal` if the engine loads other images but not this one."""
        layers = {name: partial(FileIO, path) for name, path in image.layers.items()}
        if installed and installed.is_reused:
            # most of the time: the engine has what it does not get, from an image of an earlier build
            new = {name: layer for name, layer in layers.items() if name not in installed.exported.layers}
            with contextlib.suppress(Fault):
                self._load(image.config, new, image.identity)
                return
        try:
            self._load(image.config, layers, image.identity)
        except Fault as first:
            self._require_export(base)
            try:
                self._load(image.config, layers, image.identity)
            except Fault:
                raise BuildRefusal(
                    f"the engine cannot load the image: {first}", fix="do not change the builder's folder /store"
                ) from first

    def _load(self, config: bytes, layers: Mapping[str, Callable[[], IO[bytes]]], identity: str) -> None:
        with as_fault(f"loading the image {identity}"):
            stream: Any = docker_archive(config, layers)  # its type hints lack iterators, which it sends in chunks
            self._client.images.load(stream)
        if self._inspect(identity) is None:
            raise Fault(f"the engine loaded an image other than {identity}")

    @cached_property
    def _engine(self) -> Mapping[str, Any]:
        """The engine's description of itself, asked once: it counts all that it has, and starts other programs."""
        return self._client.info()

    def _disk(self) -> Path | None:
        """Return the engine's data directory, None if it is on another host."""
        with as_fault("reading its data directory"):
            path = Path(self._engine.get("DockerRootDir") or "-")
        return path if path.is_dir() else None


def check_image_store(info: Mapping[str, Any]) -> None:
    """Raise `Fault` if the engine described by `info` does not identify images by their configuration's digest."""
    if any(_CONTAINERD_STORE in entry for entry in info.get("DriverStatus") or []):
        raise Fault(
            "this engine keeps images in containerd's store, where image identities differ between hosts: set"
            ' {"features": {"containerd-snapshotter": false}} in its daemon.json, restart it, and run `make base-image`'
        )


def builder_image_name(base_id: str) -> str:
    """Return the name of the builder image that holds the base image `base_id`."""
    return f"gauntlet-builder:{_hexadecimal(base_id)[:12]}"


def _hexadecimal(digest: str) -> str:
    return digest.removeprefix("sha256:")
