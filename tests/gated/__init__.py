"""Gated functions, against a real gate with an operator who answers."""
