"""A stand-in for a real Aileron daemon: a process of its own that speaks the daemon's HTTP API, oddities included."""
