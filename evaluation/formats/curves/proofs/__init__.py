"""Proofs: adversarial images of a released model, which lower its best known distances."""
