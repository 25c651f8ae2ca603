"""The factor of a host, measured again while its worker lives."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from core.errors import Fault, HostFault
from workers import calibration
from workers.calibration import STEADY


class Clock:
    """A clock that moves only when a test moves it, and by four tenths of a second for each measurement."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.factors: dict[str | None, float] = {None: 1.2, "3": 1.0}
        self.measured = 0

    def calibrate(self, device: str | None = None) -> float:
        self.measured += 1
        self.now += 0.4
        if device not in self.factors:
            raise Fault(f"the speed of GPU {device} could not be measured")
        return self.factors[device]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    fake = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: fake.now)
    monkeypatch.setattr(calibration, "calibrate", fake.calibrate)
    monkeypatch.setattr(calibration, "_known", {})
    monkeypatch.setattr(calibration, "STEADY", STEADY)  # the site's own: this host's speed is the test's
    yield fake
    monkeypatch.undo()


def test_measuring_again_takes_less_than_a_two_hundredth_of_the_time(clock: Clock) -> None:
    assert calibration.calibration() == 1.2
    clock.factors[None] = 1.6
    for _ in range(3600):  # an hour in which the worker asks every second
        clock.now += 1.0
        calibration.measure_again()
    assert calibration.calibration() == 1.6
    assert 30 <= clock.measured * 0.4 / 3600 * 10_000 <= 50  # hundredths of a per cent


def test_a_change_of_the_factor_is_logged(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    calibration.calibration()
    clock.now += 100
    clock.factors[None] = 1.21
    calibration.measure_again()
    assert caplog.records == []
    clock.now += 100
    clock.factors[None] = 1.6
    with caplog.at_level(logging.WARNING):
        calibration.measure_again()
    assert caplog.messages == ["the factor of the time limits of this host was 1.21 and is 1.60"]


def test_players_with_a_gpu_have_the_factor_of_the_device(clock: Clock, settings: Settings) -> None:
    assert calibration.calibration(gpu=True) == 1.2  # no device: as without
    settings.WORKER_DEVICES = ["3"]
    clock.factors["3"] = 2.5
    assert (calibration.calibration(), calibration.calibration(gpu=True)) == (1.2, 2.5)
    calibration.require_fit()
    clock.factors["3"] = 4.5
    calibration.measure_again(most=1.0)
    with pytest.raises(Fault, match=r"GPU 3 is 4\.5 times slower than the reference machine"):
        calibration.require_fit()
    settings.WORKER_DEVICES = ["4"]
    with pytest.raises(Fault, match="GPU 4 could not be measured"):
        calibration.require_fit()


def test_only_failures_of_time_on_a_slower_host_are_its_own(clock: Clock) -> None:
    charged = calibration.calibration()
    clock.factors[None] = 1.25
    calibration.require_steady(charged)
    clock.factors[None] = 1.6
    calibration.require_steady(charged, "crashed")
    calibration.require_steady(charged, "")
    with pytest.raises(HostFault, match=r"was 1\.20 and is 1\.60"):
        calibration.require_steady(charged, "never_connected")
    calibration.require_steady(calibration.calibration())  # charged by the new factor now
