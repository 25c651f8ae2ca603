"""Values that all packages share: images, samples, rules, players, results, errors."""
