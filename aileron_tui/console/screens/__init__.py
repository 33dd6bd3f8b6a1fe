"""What fills the terminal: one module per screen."""
