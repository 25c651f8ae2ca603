"""Export of a build's image as files: `config.json`, `layers.json`, and one tar archive for each new layer.

Runs in a container of the builder under `buildah unshare`, after the build's processes are gone. A build wrote its
input, which may be anything; the reader of its output checks it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_STORAGE = ["containers-storage", "--graph", "/store/graph", "--run", "/tmp/run", "--storage-driver", "overlay"]  # noqa: S108
_OPTIONS = ["--storage-opt", "additionalimagestore=/home/build/base"]


def main(name: str, folder: Path, base_layers: list[str], max_bytes: int) -> None:
    """Write the image `name` into `folder`: all of its layers that are not in `base_layers`.

    Exit with status 3 if they are larger than `max_bytes`.
    """
    folder.mkdir(mode=0o755)
    image = _answer("image", "-j", name)[0]
    config = _call("get-image-data", name, f"sha256:{image['id']}")
    (folder / "config.json").write_bytes(config)
    names: list[str] = json.loads(config)["rootfs"]["diff_ids"]
    on_base = names[: len(base_layers)] == base_layers
    new = names[len(base_layers) if on_base else 0 :]
    left = max_bytes
    for number, layer in enumerate(_chain(image["layer"], len(new))):
        file = folder / f"{number}.tar"
        _call("diff", "-u", "-f", str(file), layer)
        left -= file.stat().st_size
        if left < 0:
            sys.exit(3)
    (folder / "layers.json").write_text(json.dumps(new))


def _chain(top: str, count: int) -> list[str]:
    """Return the `count` layers of which `top` is the highest, the lowest first."""
    chain = [top]
    while len(chain) < count:
        chain.insert(0, _answer("layer", "-j", chain[0])[0]["parent"])
    return chain[:count]


def _answer(*words: str) -> Any:
    return json.loads(_call(*words))


def _call(*words: str) -> bytes:
    command, *rest = words
    return subprocess.run([*_STORAGE, *_OPTIONS, command, *rest], check=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4]))
