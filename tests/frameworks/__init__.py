"""Gated functions as tools of agent frameworks, which run with their offline models in an environment of their own."""
