"""Makes the image that builds run in: `python -m evaluation.builder.builder_image`.

It has rootless buildah, and the base image in a store of its own that builds read. It is fast where the image is there:
its name holds the base image's identity, its label a hash of this file. It needs a Docker engine that has the base
image ($GAUNTLET_BASE_IMAGE), and sees the same temporary files as this process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import DockerException, ImageNotFound, NotFound

from evaluation.builder.docker_builder import builder_image_name
from evaluation.domain.errors import Fault
from evaluation.sandbox.docker_engine import connect_engine

_LABEL = "gauntlet.builder"
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PACKAGES = "buildah uidmap containers-storage libcap2-bin socat ca-certificates python3"
_INSTALL = f"""
if [ -s /mnt/trusted.crt ]; then cp /mnt/trusted.crt {_CERTIFICATES}; fi
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends {_PACKAGES} >/dev/null
rm -rf /var/lib/apt/lists/* /var/cache/apt/*
# by capabilities and not as root: the kernel wants the map of users written by the owner of the namespace
chmod 0755 /usr/bin/newuidmap /usr/bin/newgidmap
setcap cap_setuid=ep /usr/bin/newuidmap
setcap cap_setgid=ep /usr/bin/newgidmap
useradd --uid 1000 --create-home build
echo build:100000:65536 >/etc/subuid
echo build:100000:65536 >/etc/subgid
mkdir -p /etc/containers /store
echo 'unqualified-search-registries = ["docker.io"]' >/etc/containers/registries.conf
echo '{{"default": [{{"type": "insecureAcceptAnything"}}]}}' >/etc/containers/policy.json
chown build:build /store
"""
# in a volume, since layers cannot be unpacked on the engine's own overlay; then copied with all attributes
_COPY = """
storage="--root /store/base --runroot /tmp/run --storage-driver overlay"
buildah $storage pull --quiet docker-archive:/mnt/base.tar >/dev/null
mkdir /home/build/base
buildah unshare tar -C /store/base --xattrs --xattrs-include='*' -cf - . |
  buildah unshare tar -C /home/build/base --xattrs --xattrs-include='*' -xpf -
"""


def make_builder_image(base: str) -> str:
    """Make the builder image of the base image with this name, if it is not there; return its name.

    Raise `Fault` where the base image is missing, or the engine fails.
    """
    client = connect_engine()
    wanted = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:32]
    try:
        image = builder_image_name(str(client.images.get(base).id))
        if _label(client, image) != wanted:
            with tempfile.TemporaryDirectory(prefix="gauntlet-builder-image-") as name:
                work = Path(name)
                work.chmod(0o755)  # builds run as another user
                tools = _make_tools(client, f"gauntlet-build-tools:{wanted[:12]}", base, work)
                _copy_base(client, base, tools, image, f"LABEL {_LABEL}={wanted}", work)
    except ImageNotFound as missing:
        raise Fault(f"the engine has no image {base}: run `make base-image`") from missing
    except (DockerException, OSError) as failure:
        raise Fault(f"making the builder image: {failure}") from failure
    finally:
        client.close()
    return image


def _label(client: DockerClient, image: str) -> str | None:
    try:
        labels: Mapping[str, str] = client.images.get(image).labels
    except ImageNotFound:
        return None
    return labels.get(_LABEL)


def _make_tools(client: DockerClient, name: str, base: str, work: Path) -> str:
    """Make the image with buildah alone."""
    if client.images.list(name):
        return name
    # small where it is there; a base image that was made otherwise must be a Debian, too
    small = client.images.list("gauntlet-debian")
    trusted = [Path(place) for place in (os.environ.get("SSL_CERT_FILE", ""), _CERTIFICATES) if Path(place).is_file()]
    if trusted:
        shutil.copyfile(trusted[0], work / "trusted.crt")
    changes = ["ENV HOME=/home/build", "USER 1000:1000", 'CMD ["sh"]']
    mounts = {str(work): {"bind": "/mnt", "mode": "ro"}}
    # the host's network: an engine started by a script often has no name service of its own for its bridge
    started = {"volumes": mounts, "network_mode": "host"}
    _commit(client, str(small[0].id) if small else base, _INSTALL, started, name, changes)
    return name


def _copy_base(client: DockerClient, base: str, tools: str, image: str, label: str, work: Path) -> None:
    """Make the image of `tools` with the base image in its store."""
    with (work / "base.tar").open("wb") as archive:
        for chunk in client.images.get(base).save(named=base):
            archive.write(chunk)
    (work / "base.tar").chmod(0o644)
    store = client.volumes.create()
    try:
        started = {
            "volumes": {str(work): {"bind": "/mnt", "mode": "ro"}, store.name: {"bind": "/store", "mode": "rw"}},
            "security_opt": ["seccomp=unconfined", "apparmor=unconfined"],
        }
        _commit(client, tools, _COPY, started, image, [label])
    finally:
        store.remove(force=True)


def _commit(
    client: DockerClient, start: str, script: str, started: dict[str, Any], image: str, changes: Sequence[str]
) -> None:
    """Run a script in a container of the image `start`, and keep it as `image`."""
    container = client.containers.create(start, ["sh", "-euc", script], name=f"gauntlet-{uuid.uuid4().hex}", **started)
    try:
        container.start()
        if container.wait()["StatusCode"] != 0:
            raise Fault(f"{image} could not be made:\n{container.logs(tail=20).decode(errors='replace')}")
        repository, tag = image.split(":")
        container.commit(repository, tag, changes="\n".join(changes))
    finally:
        with contextlib.suppress(NotFound):
            container.remove(force=True, v=True)


def main() -> int:
    """Make the builder image of $GAUNTLET_BASE_IMAGE; return the exit status."""
    try:
        image = make_builder_image(os.environ.get("GAUNTLET_BASE_IMAGE") or "gauntlet-base:latest")
    except Fault as fault:
        sys.stderr.write(f"builder-image: {fault}\n")
        return 1
    sys.stderr.write(f"builder-image: {image} is up to date\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
