"""The verdict: the model is asked once more about a sample's closest adversarials, which decides the distance.

Verdict queries cost the attack nothing. They share frames with audit replays, in sizes drawn from the match's own
frames and with the same sequence numbers, so that a model cannot tell them from an attack's queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.images import Image, Images
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.match_players import Model, PlayerFailedError
from evaluation.formats.query.referee.model_audit import LEAST_PER_PIECE, Audit
from evaluation.formats.query.referee.query_record import CANDIDATES, Candidate, QueryRecord, is_adversarial


@dataclass(frozen=True, eq=False)
class _VerdictQuestion:
    """One image to ask about again: a candidate of a sample, or a replay (`number` is None).

    A replay with `counts` False only fills the frame: its answer was counted before.
    """

    number: int | None
    image: Image
    label: int
    counts: bool = True


class Verdict:
    """The verdict of a piece: asks about candidates, nearest first, with audit replays in the same frames."""

    def __init__(self, model: Model, audit: Audit, samples: list[Sample], track: TrackName) -> None:
        self._model = model
        self._audit = audit
        self._samples = {sample.number: sample for sample in samples}
        self._track = track
        self.accepted: dict[int, Candidate] = {}

    def reach(self, record: QueryRecord) -> None:
        """Fill `accepted` with the nearest confirmed adversarial of each sample that has one."""
        replays = self._audit.replays()
        for rank in range(CANDIDATES):
            standing: dict[int, Candidate] = {}
            for number, candidates in record.candidates.items():
                if number in self.accepted or rank >= len(candidates):
                    continue
                if candidates[rank].failure is not None or self._model.gone:
                    self.accepted[number] = candidates[rank]
                else:
                    standing[number] = candidates[rank]
            # later ranks need replays around them, too: a frame that repeats one image would reveal the verdict
            company = replays if rank == 0 else replays[:LEAST_PER_PIECE] if standing else []
            self._ask(standing, [_VerdictQuestion(None, replay.image, replay.label, rank == 0) for replay in company])

    def _ask(self, standing: dict[int, Candidate], company: list[_VerdictQuestion]) -> None:
        questions = [_VerdictQuestion(number, c.image, c.label) for number, c in standing.items()]
        asked = {question.image.tobytes() for question in questions}
        for question in company:  # no image twice: the attack's own frames hold no repetitions
            if question.image.tobytes() not in asked:
                asked.add(question.image.tobytes())
                questions.append(question)
        answered: set[int] = set()
        for part in self._audit.shuffled_frames(len(questions)):
            if self._model.gone:
                break
            images = np.stack([questions[i].image for i in part])
            labels = ask_or_none(self._model, images)
            for position, index in enumerate(part):
                if index not in answered:
                    answered.add(index)
                    self._settle(questions[index], labels[position] if labels else None, standing)
        if self._model.gone:
            # the model classifies nothing any more, so images that were not asked about count as adversarial
            self.accepted |= {n: c for n, c in standing.items() if n not in self.accepted}

    def _settle(self, question: _VerdictQuestion, label: int | None, standing: dict[int, Candidate]) -> None:
        """Count one answer; `label` is None where the model failed, which is not another label."""
        if label is not None and question.counts:
            self._audit.count(question.label, label)
        if question.number is None:
            return
        holds = label is None or is_adversarial(label, self._samples[question.number], self._track)
        self._audit.judge(denied=not holds)
        if holds:
            self.accepted[question.number] = standing[question.number]

    def accept_all(self, record: QueryRecord) -> None:
        """Accept the nearest candidates: the model failed its audit, so its first answers decide."""
        for number, candidates in record.candidates.items():
            if candidates:
                self.accepted[number] = candidates[0]


def ask_or_none(model: Model, images: Images) -> list[int] | None:
    """Return the labels of uint8 `images` (n, bytes of an image), None where the model fails on the frame."""
    try:
        return model.classify(images.tobytes(), len(images))
    except PlayerFailedError:
        return None
