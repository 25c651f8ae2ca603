"""Names of the events of 2018. Nothing is sent: the referee sees queries, stored images and endings by itself."""

from __future__ import annotations


class ModelNotifications:
    """Events of a model."""

    TYPE = "AVC.MODEL"
    TOO_MANY_REQUESTS = "AVC.MODEL.TOO_MANY_REQUESTS_ERROR"
    NO_CLIENT_INTERACTION = "AVC.MODEL.NO_CLIENT_INTERACTION"


class AttackNotifications:
    """Events of an attack."""

    TYPE = "AVC.ATTACK"
    COMPLETE = "AVC.ATTACK.COMPLETE"
    RETRIES_EXCEEDED = "AVC.ATTACK.RETRIES_EXCEEDED_ERROR"
    STORE_ADVERSARIAL = "AVC.ATTACK.STORE_ADVERSARIAL"
