"""What is true about approvals, as values and pure functions: no I/O, no terminal."""
