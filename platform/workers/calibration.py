"""Adapter: how much slower this host is than the reference machine, measured again while a worker lives."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from core.errors import Fault, HostFault
from evaluation.domain.failure_reasons import Reason
from evaluation.sandbox.host_speed import calibrate
from workers.slot_device import device_of, slot

MOST_FACTOR = 4.0
"""The largest factor of a host in service. On a slower one a limit by the clock means something else than on others:
attacks wait four times as long, and a piece may take hours."""

SHARE = 0.005
"""The share of a worker's time that measuring again may take, at most."""

STEADY = 1.1
"""A host whose factor is this many times what a player was charged by has changed its speed meanwhile. The fastest of
20 runs varies by about two per cent."""

OUT_OF_TIME = frozenset({str(Reason.TOO_SLOW), str(Reason.NEVER_CONNECTED)})
"""Reasons of failures, in every format, that a host which became slower may cause."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Measured:
    """A factor, when it was known (`time.monotonic()`), and the seconds that measuring it took."""

    factor: float
    at: float
    took: float


_known: dict[str | None, _Measured] = {}
"""What this process measured, by the device; None for the processor."""


def calibration(*, gpu: bool = False) -> float:
    """Return the factor of the time limits of players of this process, at least 1; `gpu` for those with `gpu = true`.

    Raise `Fault` if it cannot be measured. On a slot without a GPU, `gpu` changes nothing.
    """
    device = device_of(slot()) if gpu else None
    return (_known.get(device) or _measure(device)).factor


def measure_again(*, most: float = SHARE) -> None:
    """Measure again what this process knows, unless that would take more than the share `most` of its time."""
    for device, known in list(_known.items()):
        if known.took <= most * (time.monotonic() - known.at):
            _measure(device)


def require_fit() -> None:
    """Raise `Fault` if this host is too slow for the limits of the rules, by the factors that this process knows."""
    for gpu in (False, True) if device_of(slot()) is not None else (False,):
        factor = calibration(gpu=gpu)
        if factor > MOST_FACTOR:
            what = f"GPU {device_of(slot())}" if gpu else "its processor"
            raise Fault(
                f"{what} is {factor:.1f} times slower than the reference machine, and {MOST_FACTOR:g} times is the most"
            )


def require_steady(charged: float, reason: str = Reason.TOO_SLOW, *, gpu: bool = False) -> None:
    """Measure again before a player is charged with a failure for `reason`, where its limits were `charged` times long.

    Nothing is measured for a reason that is not of time. Raise `HostFault` if this host is slower now: then the work
    returns to the queue and costs nobody anything.
    """
    if reason not in OUT_OF_TIME:
        return
    device = device_of(slot()) if gpu else None
    now = _measure(device).factor
    if now > STEADY * charged:
        raise HostFault(
            f"this host became slower while it played: the factor of its limits was {charged:.2f} and is {now:.2f}"
        )


def _measure(device: str | None) -> _Measured:
    began = time.monotonic()
    factor = calibrate(device)
    ended = time.monotonic()
    before, found = _known.get(device), _Measured(factor, ended, ended - began)
    if before is not None and not 1 / STEADY <= found.factor / before.factor <= STEADY:
        log.warning("the factor of the time limits of this host was %.2f and is %.2f", before.factor, found.factor)
    _known[device] = found
    return found
