"""Attack by a network that was trained to change images, and sees the gradient of a classifier."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from hinted_unet import load_hinted_unet
from image_files import read_images, write_image
from network import as_input, load_network
from unet import attacked

HERE = Path(__file__).resolve().parent
SIDE = 64


def main(source, destination, epsilon):
    names, images = read_images(source)
    if images.shape[1:3] != (SIDE, SIDE):
        height, width = images.shape[1:3]
        sys.exit(f"the attack network was trained on digits of 64 x 64 pixels, these images have {height} x {width}")
    guide = load_network(HERE / "robust.safetensors").requires_grad_(False)
    network = load_hinted_unet(HERE / "weights.safetensors", guide)
    with torch.no_grad():
        changed = attacked(network, as_input(images), int(epsilon) / 255)
    for name, image in zip(names, changed.permute(0, 2, 3, 1).numpy() * 255, strict=True):
        write_image(destination, name, image)


if __name__ == "__main__":
    main(*sys.argv[1:])
