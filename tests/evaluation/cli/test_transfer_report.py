"""The report of the transfer format: its gallery, its curves, and texts that participants write."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from html import unescape
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image as Picture

from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.report.gallery import of_transfer as gallery_of
from evaluation.formats.transfer.report.html_report import charts, of_transfer
from evaluation.formats.transfer.results import NO_LABEL, AttackBatch, BatchReason, BatchRun, DefenceBatch
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.batches import make_batches
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.report.page import Context

NAMES = ("cat", "dog", "owl")
RULES = TransferRules(shape=ImageShape(4, 4, 3), classes=3, batch_images=2, epsilons=(4, 16))
SAMPLES = [
    Sample(number, np.full((4, 4, 3), 90 + number, np.uint8), number % 3, (number + 1) % 3) for number in range(4)
]
HOSTILE = "</title></style></pre><script>alert('1')</script><img src=x onerror=\"a()\">&amp;"


def played(
    labels: dict[tuple[str, int], list[int]], kinds: dict[str, TransferTrack], detail: str = ""
) -> TransferResult:
    """Return a result in which attacks add epsilon, with the labels that each defence gave to each batch of each."""
    players = [TransferPlayer(name, track, "run.sh", name, Path()) for name, track in kinds.items()]
    attacks = tuple(player for player in players if player.track.is_attack)
    defences = tuple(player for player in players if not player.track.is_attack)
    batches = make_batches(SAMPLES, RULES, 0)
    made = tuple(
        AttackBatch(
            attack=attack.name,
            batch=batch.number,
            epsilon=batch.epsilon,
            images=(batch.images + batch.epsilon).astype(np.uint8),
            made=np.ones(2, np.bool_),
            hashes=("a", "b"),
            notes=((), ()),
            run=BatchRun(1.0, BatchReason.CRASHED, detail) if detail else BatchRun(1.0),
        )
        for attack in attacks
        for batch in batches
    )
    given = tuple(
        DefenceBatch(
            defence.name,
            part.attack,
            part.batch,
            np.array(labels[defence.name, part.batch], np.int16),
            {},
            BatchRun(1.0),
        )
        for defence in defences
        for part in made
    )
    return TransferResult(RULES, attacks, defences, batches, made, given)


ONE_OF_EACH = {
    "add": TransferTrack.ATTACK, "aim": TransferTrack.TARGETED_ATTACK,
    "one": TransferTrack.DEFENCE, "two": TransferTrack.DEFENCE,
}  # fmt: skip
# the samples are 0, 1 of class 0, 1 (targets 1, 2) at epsilon 4, and 2, 3 of class 2, 0 (targets 0, 1) at epsilon 16
LABELS = {("one", 0): [1, 1], ("two", 0): [0, NO_LABEL], ("one", 1): [0, 1], ("two", 1): [1, 1]}


def test_the_gallery_says_for_each_image_what_defences_saw_and_how_many_it_fooled() -> None:
    html = of_transfer(played(LABELS, ONE_OF_EACH), Context(SAMPLES, NAMES, "d, validation", 7, "gauntlet play"))
    text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))
    assert "Epsilon 4, 2 images" in text
    # for sample 0 and sample 3, `one` says dog, `two` says cat and dog
    assert re.search(r"cat 75 % (100 % 50 %|50 % 100 %) dog", text)
    assert "add , epsilon 16 , sample 2: fooled 2 of 2" in text


def test_the_gallery_shows_what_fooled_most_defences() -> None:
    items = gallery_of(played(LABELS, ONE_OF_EACH), NAMES)
    shown = [(item.attack, item.epsilon, item.sample, item.found, item.fooled) for item in items]
    assert shown == [
        ("add", 16, 2, "cat", 2),
        ("aim", 16, 3, "dog", 2),
        ("add", 4, 0, "dog", 1),
        ("aim", 4, 0, "dog", 1),
    ]
    assert items[3].target == "dog"
    assert items[2].labels == {"one": "dog", "two": "cat"}
    with Picture.open(BytesIO(base64.b64decode(items[0].pictures.differences[5].split(",")[1]))) as picture:
        assert set(np.asarray(picture).flat) == {128 + 5 * 16}


def test_scores_by_rank_have_lines_of_bundled_submissions() -> None:
    kinds = {"mine": TransferTrack.ATTACK, "fgsm": TransferTrack.ATTACK, "one": TransferTrack.DEFENCE}
    result = played({("one", 0): [1, 1], ("one", 1): [0, 1]}, kinds)
    (scores, *_) = charts(result)
    assert scores.key == "scores-attack"
    board = {row.name: row.score for row in result.board(TransferTrack.ATTACK)}
    assert scores.table.columns == ("place", "name", "score", "fgsm")
    assert scores.table.rows == [(1, "mine", board["mine"], board["fgsm"])]
    assert [line.name for line in scores.lines] == ["scores by place", "fgsm"]


def test_curves_show_the_success_of_each_track() -> None:
    defences, untargeted, targeted = charts(played(LABELS, ONE_OF_EACH))
    assert [row[:2] for row in defences.table.rows] == [(1, "one"), (1, "two")]
    assert untargeted.table.rows == [(4, 0.3333), (16, 1.0)]
    assert targeted.table.rows == [(4, 0.3333), (16, 0.75)]


def test_one_epsilon_has_no_curve() -> None:
    result = played(LABELS, ONE_OF_EACH)
    made = tuple(each for each in result.made if each.batch == 0)
    labelled = tuple(each for each in result.labelled if each.batch == 0)
    one = charts(replace(result, batches=result.batches[:1], made=made, labelled=labelled))
    assert not any(chart.key.startswith("success") for chart in one)


def test_it_escapes_what_participants_write() -> None:
    kinds = {HOSTILE: TransferTrack.ATTACK, "one": TransferTrack.DEFENCE}
    html = of_transfer(played(LABELS, kinds, HOSTILE), Context(SAMPLES, (HOSTILE,), HOSTILE, 0, HOSTILE))
    assert "<script" not in html
    assert "onerror=" not in re.sub(r"&#34;|&lt;img src=x onerror=", "", html)
    assert set(re.findall(r'<img [^>]*src="([^"]{5})', html)) == {"data:"}
