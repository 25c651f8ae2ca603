"""The image functions of `scipy.misc`, which scipy 1.3 removed, over Pillow."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Optional, Tuple, Union

import numpy as np

_FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def restore(misc: ModuleType) -> None:
    """Put `imread`, `imsave`, `imresize`, `toimage`, `fromimage` and `bytescale` into `scipy.misc`."""
    for function in (bytescale, fromimage, imread, imresize, imsave, toimage):
        setattr(misc, function.__name__, function)


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
    smallest = float(array.min()) if cmin is None else cmin
    largest = float(array.max()) if cmax is None else cmax
    if largest < smallest:
        raise ValueError("`cmax` should be larger than `cmin`")
    span = (largest - smallest) or 1.0
    stretched = (array - smallest) * ((high - low) / span) + low
    return np.asarray((stretched.clip(low, high) + 0.5).astype(np.uint8))


def toimage(arr: Any, high: int = 255, low: int = 0, cmin: Optional[float] = None, cmax: Optional[float] = None) -> Any:
    """Return an array of height x width, or with 3 or 4 channels first or last, as an image of Pillow."""
    from PIL import Image

    data = bytescale(arr, cmin, cmax, high, low)
    if data.ndim == 3 and data.shape[2] not in (3, 4) and data.shape[0] in (3, 4):
        data = data.transpose(1, 2, 0)
    return Image.fromarray(np.ascontiguousarray(data))


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
    from PIL import Image

    image = toimage(arr) if mode is None else Image.fromarray(np.asarray(arr), mode)
    if isinstance(size, (int, np.integer)):
        wanted = [int(side * size / 100.0) for side in image.size]
    elif isinstance(size, (float, np.floating)):
        wanted = [int(side * size) for side in image.size]
    else:
        wanted = [int(size[1]), int(size[0])]
    return fromimage(image.resize(wanted, resample=_FILTERS[interp]))
