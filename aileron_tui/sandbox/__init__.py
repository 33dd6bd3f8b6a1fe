"""Runs connectors: WebAssembly modules that may reach the hosts they were granted and nothing else."""
