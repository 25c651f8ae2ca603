"""Adapter: the files of a release: bundle, images, perturbed images."""

from __future__ import annotations
