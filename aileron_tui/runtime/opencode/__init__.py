"""The client for opencode, whose permission requests are answered here."""
