"""The client of a daemon: a real Aileron runtime."""
