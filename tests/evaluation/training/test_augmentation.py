"""Random changes of training images."""

from __future__ import annotations

import torch

from evaluation.training.augmentation import CropAndFlip, Warp

IMAGES = torch.randint(0, 256, (8, 16, 16, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
PLANES = IMAGES.permute(0, 3, 1, 2).float() / 255


def test_images_change_at_random_and_stay_in_range() -> None:
    for augmentation in (Warp(), CropAndFlip()):
        changed = augmentation(IMAGES)
        assert changed.shape == (8, 3, 16, 16)
        assert 0 <= float(changed.min()) <= float(changed.max()) <= 1
        assert not torch.equal(changed, augmentation(IMAGES))


def test_no_warp_changes_nothing() -> None:
    assert torch.allclose(Warp(shift=0, turn=0, scale=0)(IMAGES), PLANES, atol=1e-5)


def test_without_a_border_images_are_mirrored_or_as_they_were() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        changed = CropAndFlip(border=0)(IMAGES)
    as_they_were = [torch.equal(after, before) for after, before in zip(changed, PLANES, strict=True)]
    mirrored = [torch.equal(after, before.flip(2)) for after, before in zip(changed, PLANES, strict=True)]
    assert all(same != other for same, other in zip(as_they_were, mirrored, strict=True))
    assert 0 < sum(mirrored) < 8


def test_crops_continue_the_image_by_its_reflection() -> None:
    border = 4
    padded = torch.nn.functional.pad(PLANES, (border,) * 4, mode="reflect")
    crops = {
        padded[0, :, row : row + 16, column : column + 16].numpy().tobytes()
        for row in range(2 * border + 1)
        for column in range(2 * border + 1)
    }
    changed = CropAndFlip(border=border / 16)(IMAGES[:1].expand(20, -1, -1, -1))
    assert all(
        image.contiguous().numpy().tobytes() in crops or image.flip(2).contiguous().numpy().tobytes() in crops
        for image in changed
    )
