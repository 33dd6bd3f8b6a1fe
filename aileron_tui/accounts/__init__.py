"""Accounts of connectors: signing in, keeping the secrets, and renewing tokens."""
