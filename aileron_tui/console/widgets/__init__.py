"""The widgets of the console, and the text layout they share."""
