"""What the demo runs on: the sample service and the bundled suite made ready for it."""
