"""Measurements, side by side in one run, as ratios with a limit each."""
