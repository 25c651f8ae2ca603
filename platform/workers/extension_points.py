"""Questions of workers that higher apps answer. They add their functions in `AppConfig.ready`."""

from __future__ import annotations

from core.extension_point import ExtensionPoint

host_checks: ExtensionPoint[[], None] = ExtensionPoint()
"""Can this host do the work of the app now? Raise `Fault` if not."""

housekeeping: ExtensionPoint[[], None] = ExtensionPoint()
"""Has the app something to remove from this host before its next work?"""
