"""The query format: attacks ask models for labels, under a budget (Adversarial Vision Challenge, 2018)."""
