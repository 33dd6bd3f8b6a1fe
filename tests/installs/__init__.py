"""Installs the program in every way that the documentation names."""
