"""What an app puts right in a site that was restored. It adds a function in `AppConfig.ready`."""

from __future__ import annotations

from core.extension_point import ExtensionPoint

put_right: ExtensionPoint[[], None] = ExtensionPoint()
"""Go on without the objects that the site removed after the moment of the backup.

The rows are those of that moment, and the objects those of a later one: they were copied after the rows, or are in a
bucket, which goes on with the site.
"""
