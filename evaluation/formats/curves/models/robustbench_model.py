"""Models of RobustBench (Croce et al. 2021), if its package is installed: trusted code and weights, in this process."""

from __future__ import annotations

import importlib

import torch
from torch import nn

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.models.model_file import digest_of

PREFIX = "robustbench:"
"""Before the name of a model, in commands."""

_INSTALL = "pip install git+https://github.com/RobustBench/robustbench"
_LINF = "Linf"
"""The threat model that a name without one means."""


def load_robustbench(name: str, dataset: str, classes: int, device: torch.device) -> NetworkClassifier:
    """Return the model of a name: `NAME` of the threat model Linf, or `THREAT/NAME`, such as `L2/NAME`.

    Raise `Refusal` if the package is not installed, or cannot load the model.
    """
    threat, _, model = name.rpartition("/")
    try:
        utils = importlib.import_module("robustbench.utils")
    except ImportError as error:
        raise Refusal(f"the package robustbench cannot be imported: {error}", fix=_INSTALL) from error
    try:
        network = utils.load_model(model_name=model, dataset=dataset, threat_model=threat or _LINF)
    except Exception as error:  # what it raises for an unknown name or a failed download depends on its version
        raise Refusal(
            f"robustbench cannot load {model} for {dataset} and {threat or _LINF}: {type(error).__name__}: {error}",
            fix="name a model of its list for this data set, and check that this host reaches its weights",
        ) from error
    if not isinstance(network, nn.Module):
        raise Refusal(f"robustbench returned {type(network).__name__} for {model}", fix=_INSTALL)
    digest = digest_of(network, name.encode())
    return NetworkClassifier(network.to(device), classes, model, digest=digest)
