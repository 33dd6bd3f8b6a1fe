"""The console: the Textual app in which the operator answers requests. It decides nothing on its own."""
