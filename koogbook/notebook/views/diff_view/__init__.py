"""Two histories side by side: fates, words, sources, facts."""
