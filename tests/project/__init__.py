"""Tests of the project itself: its layers, its package, its documents."""
