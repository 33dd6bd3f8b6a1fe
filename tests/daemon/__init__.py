"""A fake Aileron daemon: a separate process with the daemon's HTTP API, including its oddities."""
