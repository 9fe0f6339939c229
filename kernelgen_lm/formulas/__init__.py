"""Formulas and the tile programs that compute them: questions in slots, for small models."""
