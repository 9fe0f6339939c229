"""Machine files, what predicted times rest on, and profiles."""
