"""Questions of submissions that higher apps answer. They add their functions in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from core.extension_point import ExtensionPoint
from submissions.models import Player, Submission

players_in_use: ExtensionPoint[[], QuerySet[Player]] = ExtensionPoint()
"""Which players may be started soon?"""

players_in_records: ExtensionPoint[[], QuerySet[Player]] = ExtensionPoint()
"""Which players may be started again at any later time, to check a result?"""

void_by_platform: ExtensionPoint[[], QuerySet[Submission]] = ExtensionPoint()
"""Which submissions have no score because of a platform error after they were ready?"""

published_titles: ExtensionPoint[[Submission], Sequence[str]] = ExtensionPoint()
"""Which published files hold the title of a submission and cannot change? A sentence for each."""

waiting_for_score: ExtensionPoint[[], QuerySet[Submission]] = ExtensionPoint()
"""Which submissions have an evaluation that has not ended, and since when (an annotation `waiting_since`)?"""
