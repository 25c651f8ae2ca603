"""torchvision as in 2017, and beside a torch that its operators were not built for."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

_ROI = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_ROI_BACK = "SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_DEFORM = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask"
)

OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align({_ROI}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, {_ROI_BACK}, int sampling_ratio, "
    "bool aligned) -> Tensor",
    f"ps_roi_align({_ROI}, int sampling_ratio) -> (Tensor, Tensor)",
    "_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, "
    "SymInt height, SymInt width) -> Tensor",
    f"roi_pool({_ROI}) -> (Tensor, Tensor)",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, {_ROI_BACK}) -> Tensor",
    f"ps_roi_pool({_ROI}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, {_ROI_BACK})"
    " -> Tensor",
    f"deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, {_DEFORM}) -> Tensor",
    "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    f"{_DEFORM}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)
"""The operators that torchvision names when it is imported. Without their library nothing can call them."""

_kept: Any = None  # torch forgets operators whose library is collected


def define_operators(extension: ModuleType) -> None:
    """Define torchvision's operators by name, if its library of them did not load: then it can be imported.

    The wheel of torchvision is built for CUDA and does not load beside the CPU build of torch. Classifiers and
    transformations of images use none of them.
    """
    global _kept
    if extension._has_ops():
        return
    library: Any = importlib.import_module("torch.library")
    _kept = library.Library("torchvision", "DEF")
    for operator in OPERATORS:
        _kept.define(operator)


def restore_transforms(transforms: Any) -> None:
    """Put back `Scale` and `RandomSizedCrop`."""
    if not hasattr(transforms, "Scale"):
        transforms.Scale = scale_over(transforms.Resize)
    if not hasattr(transforms, "RandomSizedCrop"):
        transforms.RandomSizedCrop = transforms.RandomResizedCrop


def scale_over(resize: Any) -> Any:
    """Return `Scale` over the class `Resize`: one number is the length of the shorter side, two are (width, height)."""

    class Scale(resize):  # type: ignore[misc]  # the class is torchvision's
        def __init__(self, size: Any, interpolation: Any = 2) -> None:
            super().__init__(size if isinstance(size, int) else tuple(size)[::-1], interpolation)

    return Scale
