"""Files that several bundled submissions contain; `evaluation.baselines.catalogue` says which ones."""
