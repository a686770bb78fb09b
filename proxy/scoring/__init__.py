"""Models that score pairs of texts, and the queue in front of them."""
