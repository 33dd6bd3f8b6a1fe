"""Benchmarks. Each measures two things in turns and compares their ratio with a limit."""
