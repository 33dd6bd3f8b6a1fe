"""What this project relies on from a daemon, checked on any daemon: the public API and nothing else."""
