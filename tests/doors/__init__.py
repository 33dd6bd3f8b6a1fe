"""Tests of the doors through which coding agents reach the gate."""
