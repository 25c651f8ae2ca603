"""Values that all packages share: images, samples, players, errors."""
