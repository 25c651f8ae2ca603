"""Named reasons for which a player fails that the referee talks to."""

from __future__ import annotations

from evaluation.domain.explained_enum import ExplainedName


class Reason(ExplainedName):
    """Every reason for which a player can fail, by the name in results, logs and pages."""

    # before the match
    NEVER_CONNECTED = "never_connected", "it did not connect to the referee within the set-up time"
    EXITED_IN_SETUP = "exited_in_setup", "its process ended before it connected to the referee"
    BAD_HELLO = "bad_hello", "its first frame was not a valid HELLO"
    # protocol
    BAD_TYPE = "bad_type", "it sent a frame of a type that is not allowed at this point"
    BAD_LENGTH = "bad_length", "it sent a frame whose length does not match its type and count"
    BAD_COUNT = "bad_count", "it sent a frame with a count outside the allowed range"
    BAD_SEQUENCE = "bad_sequence", "it sent a frame with a sequence number out of order"
    UNEXPECTED_BYTES = "unexpected_bytes", "it sent bytes when no frame was due"
    UNKNOWN_SAMPLE = "unknown_sample", "it named a sample that is not part of the piece"
    # time, connection and process
    TOO_SLOW = "too_slow", "it exceeded its time limit"
    DISCONNECTED = "disconnected", "it closed its connection during the match"
    CRASHED = "crashed", "its process ended with an error"
    OUT_OF_MEMORY = "out_of_memory", "it used more memory than the limit and was stopped"
    # scores and gradients
    NOT_OFFERED = "not_offered", "it does not offer the scores or gradients that the attacks of the competition need"
    INVALID_NUMBERS = "invalid_numbers", "it answered scores or gradients that are not finite or too large"
    SCORES_DISAGREE = (
        "scores_disagree",
        "its highest score is not the one of the label that it answers for the same image",
    )
    # results
    INVALID_LABEL = "invalid_label", "the model gave no valid label for the image"
    INCONSISTENT = (
        "inconsistent",
        "replayed images got other answers: the model is not a stateless, deterministic function of one image",
    )
    ATTACK_RAISED = "attack_raised", "the attack raised an exception on this sample"
    NO_ADVERSARIAL = "no_adversarial", "the attack found no adversarial"
    NOT_CONFIRMED = "not_confirmed", "none of the closest adversarials was confirmed by a verdict query"
    MISCLASSIFIED = "misclassified", "the clean image already meets the criterion"
