"""Named reasons for which a player fails that the referee talks to."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Every reason for which a player can fail, by the name in results, logs and pages."""

    # before the match
    NEVER_CONNECTED = "never_connected"
    EXITED_IN_SETUP = "exited_in_setup"
    BAD_HELLO = "bad_hello"
    # protocol
    BAD_TYPE = "bad_type"
    BAD_LENGTH = "bad_length"
    BAD_COUNT = "bad_count"
    BAD_SEQUENCE = "bad_sequence"
    UNEXPECTED_BYTES = "unexpected_bytes"
    UNKNOWN_SAMPLE = "unknown_sample"
    # time, connection and process
    TOO_SLOW = "too_slow"
    DISCONNECTED = "disconnected"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    # scores and gradients
    NOT_OFFERED = "not_offered"
    INVALID_NUMBERS = "invalid_numbers"
    SCORES_DISAGREE = "scores_disagree"
    # results
    INVALID_LABEL = "invalid_label"
    INCONSISTENT = "inconsistent"
    ATTACK_RAISED = "attack_raised"
    NO_ADVERSARIAL = "no_adversarial"
    NOT_CONFIRMED = "not_confirmed"
    MISCLASSIFIED = "misclassified"

    @property
    def text(self) -> str:
        """A sentence for people."""
        return _TEXTS[self]


_TEXTS: dict[Reason, str] = {
    Reason.NEVER_CONNECTED: "it did not connect to the referee within the set-up time",
    Reason.EXITED_IN_SETUP: "its process ended before it connected to the referee",
    Reason.BAD_HELLO: "its first frame was not a valid HELLO",
    Reason.BAD_TYPE: "it sent a frame of a type that is not allowed at this point",
    Reason.BAD_LENGTH: "it sent a frame whose length does not match its type and count",
    Reason.BAD_COUNT: "it sent a frame with a count outside the allowed range",
    Reason.BAD_SEQUENCE: "it sent a frame with a sequence number out of order",
    Reason.UNEXPECTED_BYTES: "it sent bytes when no frame was due",
    Reason.UNKNOWN_SAMPLE: "it named a sample that is not part of the piece",
    Reason.TOO_SLOW: "it exceeded its time limit",
    Reason.DISCONNECTED: "it closed its connection during the match",
    Reason.CRASHED: "its process ended with an error",
    Reason.OUT_OF_MEMORY: "it used more memory than the limit and was stopped",
    Reason.NOT_OFFERED: "it does not offer the scores or gradients that the attacks of the competition need",
    Reason.INVALID_NUMBERS: "it answered scores or gradients that are not finite or too large",
    Reason.SCORES_DISAGREE: "its highest score is not the one of the label that it answers for the same image",
    Reason.INVALID_LABEL: "the model gave no valid label for the image",
    Reason.INCONSISTENT: (
        "replayed images got other answers: the model is not a stateless, deterministic function of one image"
    ),
    Reason.ATTACK_RAISED: "the attack raised an exception on this sample",
    Reason.NO_ADVERSARIAL: "the attack found no adversarial",
    Reason.NOT_CONFIRMED: "none of the closest adversarials was confirmed by a verdict query",
    Reason.MISCLASSIFIED: "the clean image already meets the criterion",
}
