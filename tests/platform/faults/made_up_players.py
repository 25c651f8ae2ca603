"""Players that nobody starts: what they answer follows from their contents, and each start is an external call."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from core.errors import HostFault
from evaluation.domain.players import QueryPlayer
from evaluation.domain.samples import Sample
from evaluation.domain.smoke_test_pictures import PicturedSmokeSample
from evaluation.domain.smoke_test_result import SmokeCheck, SmokeTestResult
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.curves.threat_models import Capability, Knowledge, ThreatModel
from evaluation.formats.query.kept_frames import KeptFrame, KeptFrames
from evaluation.formats.query.results import AuditReport, Outcome, PieceResult, RefereedSample, Trace
from evaluation.formats.transfer.results import AttackBatch, BatchRun, DefenceBatch
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash
from evaluation.formats.transfer.runner.batches import Batch
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.process_sandbox import ProcessSandbox
from evaluation.scoring.distances import l2
from formats.curves.player_builds import ready_player as ready_curves_player
from formats.query.matches import match_session as matches
from formats.query.matches.player_builds import ready_player as ready_query_player
from formats.query.submissions.smoke_test import QuerySmokeTest
from formats.transfer.submissions.smoke_test import TransferSmokeTest
from formats.transfer.tournaments import engine_runs as tournaments
from formats.transfer.tournaments.player_builds import ready_player as ready_transfer_player
from submissions.models import Player
from submissions.smoke_test import SmokeTest
from tests.evaluation.formats.curves.results_of import results_of
from tests.platform.conftest import FakeClock
from tests.platform.faults.external_calls import ExternalCalls
from workers import calibration, host_health

Answer = TypeVar("Answer")

SECONDS = 1.0
"""What a start of players takes, by the site's clock."""


class Players:
    """Starts players of every format."""

    def __init__(self, calls: ExternalCalls, clock: FakeClock) -> None:
        self._calls, self._clock = calls, clock

    def start(self, what: str, act: Callable[[], Answer]) -> Answer:
        """Start players; the sandbox of the host may fail."""

        def take_time() -> Answer:
            self._clock.forward(seconds=SECONDS)
            return act()

        return self._calls.make(f"player {what}", take_time, HostFault("the sandbox has failed"), effective=False)

    def install(self, patch: pytest.MonkeyPatch, name: str) -> None:
        """Let a site whose competitions have the format `name` start these players in place of programs."""
        patch.setattr(ProcessSandbox, "prove", lambda self, *arguments, **options: None)
        patch.setattr(calibration, "calibrate", lambda device: 1.0)
        patch.setattr(host_health, "_POLL_SECONDS", 3600.0)
        for of_format, ready in ((QuerySmokeTest, ready_query_player), (TransferSmokeTest, ready_transfer_player)):
            patch.setattr(of_format, "check", self._smoke_test(ready))
        patch.setattr(matches, "SandboxedPlayer", lambda sandbox, player, share: player)
        patch.setattr(matches, "RefereedMatch", lambda **options: MadeUpMatch(self, **options))
        patch.setattr(matches, "audit_model", lambda *, kept, **options: self.start("audit", lambda: _audits(kept)))
        patch.setattr(tournaments, "_runner", lambda tournament, player, stop: MadeUpBatches(self))
        if name == "curves":
            self._install_curves(patch)

    def _install_curves(self, patch: pytest.MonkeyPatch) -> None:
        from formats.curves import benchmark_runs, smoke_test  # noqa: PLC0415 - they load PyTorch

        patch.setattr(smoke_test.CurvesSmokeTest, "check", self._smoke_test(ready_curves_player))
        patch.setattr(benchmark_runs, "benchmark", self._benchmark)

    def _benchmark(
        self, player: QueryPlayer, samples: Sequence[Sample], attack: ListedAttack, rules: CurvesRules, **options: Any
    ) -> Results:
        """An attack finds an adversarial of every image, at a distance of its own."""
        norm = attack.norm
        distances = [2.0 * rules.budget(norm) * _share(player.digest, attack, sample.number) for sample in samples]
        labels = np.array([sample.label for sample in samples])
        found = replace(
            results_of(distances, attack=attack.name, goal=attack.goal),
            threat_model=ThreatModel(attack.goal, Capability.OPTIMISED, norm, Knowledge.DECISION),
            fixed_budget=rules.budget(norm),
            labels=labels,
            clean_labels=labels,
        )
        return self.start("benchmark", lambda: found)

    def _smoke_test(self, ready: Callable[..., Any]) -> Callable[..., SmokeTestResult]:
        def check(
            test: SmokeTest[Any], player: Player, on_log: Callable[[str], None], on_piece: Callable[[], None]
        ) -> SmokeTestResult:
            ready(player, on_log)
            on_piece()
            sample = test.samples[0]
            picture = PicturedSmokeSample(label=sample.label, clean=sample.image)
            return self.start(
                "smoke test", lambda: SmokeTestResult((SmokeCheck("rules", True, "kept"),), "", pictures=(picture,))
            )

        return check


def _audits(kept: Sequence[KeptFrames]) -> list[AuditReport]:
    return [AuditReport(fresh=len(each.frames)) for each in kept]


def _share(*names: object) -> float:
    """Return a number of 0 to 1 that follows from the names."""
    return zlib.crc32(" ".join(map(str, names)).encode()) / 2**32


class MadeUpMatch:
    """A match of the query format: the attack changes one row of pixels of each image."""

    def __init__(self, players: Players, *, model: QueryPlayer, attack: QueryPlayer, **options: Any) -> None:
        self._players, self._names = players, (model.digest, attack.digest)

    def close(self) -> None:
        """Do nothing: no player runs."""

    def play_piece(self, samples: list[Sample], *, more: bool, keep: bool) -> PieceResult:
        """Play a piece."""
        return self._players.start("match", lambda: self._result(samples))

    def _result(self, samples: list[Sample]) -> PieceResult:
        changed = [self._changed(sample) for sample in samples]
        rows = [self._row(sample, image) for sample, image in zip(samples, changed, strict=True)]
        none = np.zeros(0)
        trace = Trace(
            none.astype(np.uint16), none.astype(np.uint16), none.astype(np.uint32), none.astype(np.int16),
            none.astype(np.float32),
        )  # fmt: skip
        frame = KeptFrame(np.stack(changed).reshape(len(changed), -1), (0,) * len(changed), 1.0)
        return PieceResult(
            tuple(rows), np.stack(changed), trace, SECONDS, AuditReport(fresh_due=1), kept=KeptFrames((frame,)),
            model_seconds=SECONDS / 2,
        )  # fmt: skip

    def _changed(self, sample: Sample) -> Any:
        image = sample.image.copy()
        image[int(_share(*self._names, sample.number) * len(image))] ^= 0x3F
        return image

    def _row(self, sample: Sample, image: Any) -> RefereedSample:
        most = l2(sample.image, np.full_like(sample.image, 128))
        distance = min(l2(sample.image, image), most)
        return RefereedSample(
            sample.number, sample.label, sample.target, Outcome.ADVERSARIAL, distance, most, 10, 0.1, None, 3
        )


class MadeUpBatches:
    """Runs of the transfer format: attacks change one pixel, defences guess."""

    def __init__(self, players: Players) -> None:
        self._players = players

    def attack(self, player: TransferPlayer, batch: Batch) -> AttackBatch:
        """Attack a batch."""
        images = batch.images.copy()
        images[:, 0, 0, 0] ^= 1 + int(6 * _share(player.digest))
        size = len(images)
        made = AttackBatch(
            player.name, batch.number, batch.epsilon, images, np.ones(size, bool),
            tuple(pixel_hash(image) for image in images), ((),) * size, BatchRun(SECONDS),
        )  # fmt: skip
        return self._players.start("attack", lambda: made)

    def defence(self, player: TransferPlayer, attack: TransferPlayer, batch: Batch, made: AttackBatch) -> DefenceBatch:
        """Label a batch."""
        labels = _labels(player, made.images)
        done = DefenceBatch(player.name, attack.name, batch.number, labels, {}, BatchRun(SECONDS))
        return self._players.start("defence", lambda: done)

    def label(self, player: TransferPlayer, names: Any, images: Any) -> tuple[Any, dict[Any, int], BatchRun]:
        """Label images again."""
        return self._players.start("repeated run", lambda: (_labels(player, images), {}, BatchRun(SECONDS)))


def _labels(player: TransferPlayer, images: Iterable[Any]) -> Any:
    return np.array([int(10 * _share(player.digest, pixel_hash(image))) for image in images], np.int16)
