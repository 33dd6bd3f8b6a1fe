"""The screens and dialogs of the console, one per module."""
