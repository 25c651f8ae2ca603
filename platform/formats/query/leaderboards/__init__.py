"""Pools, evaluations and the public boards."""
