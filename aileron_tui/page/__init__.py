"""The web page that a gate serves on this machine."""
