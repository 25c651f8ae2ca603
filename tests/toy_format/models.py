"""The table of the toy format: submissions on sample sets, for a round or the leaderboard; `share` in per cent."""

from __future__ import annotations

from django.db import models

from competitions.models import SampleSet
from rounds.models import Round
from submissions.models import Submission
from workers.work_item_models import HostedItem


class Guess(HostedItem):
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="guesses")
    sample_set = models.ForeignKey(SampleSet, on_delete=models.PROTECT, related_name="guesses")
    round = models.ForeignKey(Round, null=True, on_delete=models.PROTECT, related_name="guesses")
    share = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["submission", "sample_set"], name="guessed_once")]

    def __str__(self) -> str:
        return f"guess of {self.submission}"
