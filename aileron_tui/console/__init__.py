"""The console: Textual, and nothing that decides by itself."""
