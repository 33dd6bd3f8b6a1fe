"""The client for a daemon, which is a real Aileron runtime."""
