"""The standalone runtime: accepts calls from agents, asks a person, and runs what was approved."""
