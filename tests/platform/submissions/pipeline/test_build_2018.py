"""A submission of 2018 from its commit to a player."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from evaluation.legacy.environment import VARIABLE
from formats.query.matches import player_builds
from submissions import pipeline
from submissions.models import Submission
from submissions.selectors import whole_log

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]

FILES = {
    "crowdai.json": '{"challenge_id": "nips-2018-avc-untargeted-attack", "gpu": true}',
    "run.sh": "python3 -u ./main.py",
    "requirements.txt": "numpy==1.14.2\ngit+https://github.com/bethgelab/adversarial-vision-challenge",
    "main.py": """
import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()
for file_name, image, label in read_images():
    for scale in range(300, 20, -20):
        noisy = (image + np.random.normal(0, scale, image.shape)).astype(np.float32)
        if model(noisy) != label:
            store_adversarial(file_name, noisy)
attack_complete()
""",
}


def test_a_submission_of_2018_becomes_a_player_and_its_log_lists_the_replacements(
    submit: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, sys.prefix)
    submission = submit("untargeted", FILES)
    pipeline.advance()
    submission.refresh_from_db()
    log = "".join(whole_log(submission.builds.get()))
    assert submission.state == "ready", log
    assert "requirements.txt, line 1: numpy==1.14.2 is replaced by numpy 1.26.4" in log
    assert submission.player is not None
    again = player_builds.ready_player(submission.player, lambda line: None)
    assert again.digest == submission.player.digest
