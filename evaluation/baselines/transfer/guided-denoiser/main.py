"""High-level representation guided denoiser."""

from __future__ import annotations

import sys

import numpy as np
import torch
from classifiers import CHUNK, DIGITS, HERE, load, predict
from image_files import read_images, write_labels
from network import as_input
from unet import denoised, load_unet


def cleaned(images):
    """Return the images (n, h, w, 3) without the noise that the denoiser sees in them."""
    denoiser = load_unet(HERE / "weights.safetensors")
    found = []
    with torch.inference_mode():
        for start in range(0, len(images), CHUNK):
            clean = denoised(denoiser, as_input(images[start : start + CHUNK]))
            found.append(clean.permute(0, 2, 3, 1).numpy() * np.float32(255))
    return np.concatenate(found)


def main(source, result):
    names, images = read_images(source)
    if images.shape[1:3] != (DIGITS, DIGITS):
        height, width = images.shape[1:3]
        sys.exit(f"the denoiser was trained on digits of 64 x 64 pixels, these images have {height} x {width}")
    classifiers = load(DIGITS, digits=("plain",), lite=())
    write_labels(result, names, predict(classifiers, cleaned(images)))


if __name__ == "__main__":
    main(*sys.argv[1:])
