"""Training: a tokenizer and a small model from scratch, or any model of the Qwen3 family, on TRL."""
