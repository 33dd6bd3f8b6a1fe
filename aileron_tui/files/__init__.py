"""The only layer that knows where things lie on disk and reads or writes them."""
