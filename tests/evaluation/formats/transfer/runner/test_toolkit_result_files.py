"""The six result files of the toolkit of 2017, byte by byte as its own code wrote them for these counts."""

from __future__ import annotations

from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.runner.toolkit_result_files import toolkit_files

IMAGES = 3
COUNTS = [
    PairCounts("fgsm", "base", False, IMAGES, 3, 3, 1),
    PairCounts("fgsm", "jpeg", False, IMAGES, 3, 3, 2),
    PairCounts("noop", "base", False, IMAGES, 3, 3, 3),
    PairCounts("noop", "jpeg", False, IMAGES, 3, 3, 2),
    PairCounts("quiet, one", "base", False, IMAGES, 2, 2, 2),
    PairCounts("quiet, one", "jpeg", False, IMAGES, 2, 2, 1),
    PairCounts("iter", "base", True, IMAGES, 3, 3, 1, 2),
    PairCounts("iter", "jpeg", True, IMAGES, 3, 3, 2, 1),
    PairCounts("step", "base", True, IMAGES, 3, 3, 2, 1),
    PairCounts("step", "jpeg", True, IMAGES, 3, 3, 3, 0),
]


def test_the_six_files_have_the_bytes_of_the_toolkit_of_2017() -> None:
    files = toolkit_files(
        COUNTS, attacks=["fgsm", "noop", "quiet, one"], targeted=["iter", "step"], defences=["base", "jpeg"]
    )
    assert files == {
        "accuracy_on_attacks.csv": b",base,jpeg\nfgsm,1,2\nnoop,3,2\nquiet, one,2,1\n",
        "accuracy_on_targeted_attacks.csv": b",base,jpeg\niter,1,2\nstep,2,3\n",
        "hit_target_class.csv": b",base,jpeg\niter,2,1\nstep,1,0\n",
        "defense_ranking.csv": b"DefenseName,Score\r\njpeg,10\r\nbase,9\r\n",
        "attack_ranking.csv": b'AttackName,Score\r\n"quiet, one",3\r\nfgsm,3\r\nnoop,1\r\n',
        "targeted_attack_ranking.csv": b"AttackName,Score\r\niter,3\r\nstep,1\r\n",
    }


def test_a_track_without_submissions_has_its_files() -> None:
    files = toolkit_files([], attacks=[], targeted=[], defences=["base"])
    assert files["hit_target_class.csv"] == b",base\n"
    assert files["targeted_attack_ranking.csv"] == b"AttackName,Score\r\n"
    assert files["defense_ranking.csv"] == b"DefenseName,Score\r\nbase,0\r\n"
