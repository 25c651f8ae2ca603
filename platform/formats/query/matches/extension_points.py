"""Questions of matches that higher apps answer. They add their functions in `AppConfig.ready`."""

from __future__ import annotations

from core.extension_point import ExtensionPoint
from formats.query.matches.models import Match

replay_notes: ExtensionPoint[[Match], list[str]] = ExtensionPoint()
"""What must an organiser still do after a replay of the match, as read by the admin with its counts?"""
