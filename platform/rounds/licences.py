"""Adapter: whether a licence is open source, by the list of SPDX and the OSI."""

from __future__ import annotations
