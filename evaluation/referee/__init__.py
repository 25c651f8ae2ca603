"""The neutral referee: owns the images, the budgets, the clock and every number that is scored."""
