"""The values every other room speaks in: images, samples, rules, players, results, errors."""
