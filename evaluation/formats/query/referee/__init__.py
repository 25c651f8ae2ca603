"""The neutral referee, which holds the images, the budgets, the clock and every number that is scored."""
