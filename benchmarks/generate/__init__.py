"""How many requests per second a harness gets out of one OpenAI-compatible server."""
