"""The standalone runtime: takes calls from agents, asks a person, and runs what was approved."""
