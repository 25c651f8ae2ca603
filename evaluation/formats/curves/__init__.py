"""The benchmark of released models: robustness curves (Dong et al. 2020)."""
