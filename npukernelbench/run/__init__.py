"""One run: what it does, asking beside judging, conversations, what it costs, and how it came about."""
