"""The image functions of `scipy.misc`, which scipy 1.3 removed, over Pillow."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Optional, Tuple, Union

import numpy as np

_FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}
_WHOLE_MODES = {"F": np.float32, "I": np.int32}


def restore(misc: ModuleType) -> None:
    """Put `imread`, `imsave`, `imresize`, `toimage`, `fromimage` and `bytescale` into `scipy.misc`."""
    for function in (bytescale, fromimage, imread, imresize, imsave, toimage):
        setattr(misc, function.__name__, function)


def restore_imread(ndimage: ModuleType) -> None:
    """Put `imread` into `scipy.ndimage`."""
    ndimage.imread = imread  # type: ignore[attr-defined]


def bytescale(
    data: Any, cmin: Optional[float] = None, cmax: Optional[float] = None, high: int = 255, low: int = 0
) -> np.ndarray:
    """Return `data` as uint8: uint8 as it is, anything else stretched from its own extremes to `low`..`high`.

    So an image of floats that does not reach 0 and 255 gets more contrast: programs of 2017 that wrote floats changed
    their images by this.
    """
    array = np.asarray(data)
    if array.dtype == np.uint8:
        return array
    if not 0 <= low <= high <= 255:
        raise ValueError("`low` and `high` should be between 0 and 255, `low` not above `high`")
    # numpy's own scalars: the extremes keep the type of the array, as in scipy, and so does what is rounded
    smallest = array.min() if cmin is None else cmin
    largest = array.max() if cmax is None else cmax
    span = largest - smallest
    if span < 0:
        raise ValueError("`cmax` should be larger than `cmin`")
    stretched = (array - smallest) * (float(high - low) / (span or 1)) + low
    return np.asarray((stretched.clip(low, high) + 0.5).astype(np.uint8))


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: Optional[float] = None,
    cmax: Optional[float] = None,
    mode: Optional[str] = None,
) -> Any:
    """Return an array of height x width, or with 3 or 4 channels first or last, as an image of Pillow.

    Only the modes "F" and "I" keep the values; all others are stretched by `bytescale`.
    """
    from PIL import Image

    if mode in _WHOLE_MODES:
        return Image.fromarray(np.asarray(arr).astype(_WHOLE_MODES[mode]))
    data = bytescale(arr, cmin, cmax, high, low)
    if data.ndim == 3 and data.shape[2] not in (3, 4) and data.shape[0] in (3, 4):
        data = data.transpose(1, 2, 0)
    image = Image.fromarray(np.ascontiguousarray(data))
    return image if mode in (None, image.mode) else image.convert(mode)


def fromimage(im: Any, flatten: bool = False, mode: Optional[str] = None) -> np.ndarray:
    """Return an image of Pillow as an array, after conversion to `mode`; `flatten` gives grey levels as float32."""
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imread(name: Any, flatten: bool = False, mode: Optional[str] = None) -> np.ndarray:
    """Return the image in a file, or in an open one, as an array."""
    from PIL import Image

    with Image.open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: Optional[str] = None) -> None:  # noqa: A002 - as in scipy
    """Write an array as an image; floats are stretched by `bytescale`. An open file without `format` gets a PNG."""
    toimage(arr).save(name, format or (None if isinstance(name, str) else "PNG"))


def imresize(
    arr: Any, size: Union[int, float, Tuple[int, ...]], interp: str = "bilinear", mode: Optional[str] = None
) -> np.ndarray:
    """Return an image of another size: percent (an int), a factor (a float), or (height, width)."""
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        wanted = [int(side * size / 100.0) for side in image.size]
    elif isinstance(size, (float, np.floating)):
        wanted = [int(side * size) for side in image.size]
    else:
        wanted = [int(size[1]), int(size[0])]
    return fromimage(image.resize(wanted, resample=_FILTERS[interp]))
