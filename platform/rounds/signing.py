"""Adapter: the key that signs bundles."""

from __future__ import annotations
