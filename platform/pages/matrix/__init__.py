"""Matrices of attacks and the other side."""
