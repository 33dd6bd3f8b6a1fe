"""The themes of the console. One accent colour; amber only for warnings, red only for danger."""

from typing import Final

from textual.theme import Theme

DARK: Final = Theme(
    name="aileron-dark",
    primary="#7aa2c8",
    secondary="#8a93a3",
    accent="#7aa2c8",
    foreground="#d5d9e0",
    background="#14171c",
    surface="#1b1f26",
    panel="#232832",
    success="#8fb58a",
    warning="#e0af4c",
    error="#e5686a",
    dark=True,
    variables={"footer-key-foreground": "#7aa2c8", "input-selection-background": "#7aa2c8 35%"},
)
LIGHT: Final = Theme(
    name="aileron-light",
    primary="#2f6690",
    secondary="#5c6672",
    accent="#2f6690",
    foreground="#1f242b",
    background="#fbfbf9",
    surface="#f1f1ec",
    panel="#e6e6df",
    success="#3f7a3a",
    warning="#8a5a00",
    error="#b3261e",
    dark=False,
    variables={"footer-key-foreground": "#2f6690"},
)
CONTRAST: Final = Theme(
    name="aileron-contrast",
    primary="#66d9ff",
    secondary="#ffffff",
    accent="#66d9ff",
    foreground="#ffffff",
    background="#000000",
    surface="#101010",
    panel="#1c1c1c",
    success="#7cff7c",
    warning="#ffd75f",
    error="#ff8080",
    dark=True,
)
PLAIN: Final = Theme(
    name="aileron-plain",
    primary="ansi_default",
    secondary="ansi_default",
    accent="ansi_default",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    success="ansi_default",
    warning="ansi_default",
    error="ansi_default",
    boost="ansi_default",
    dark=True,
    ansi=True,
    variables={
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "border": "ansi_default",
        "border-blurred": "ansi_default",
        "block-cursor-background": "ansi_default",
        # The highlighted choice has no background here, and swapping two equal colours would not be visible.
        "block-cursor-text-style": "bold underline",
        "block-cursor-blurred-text-style": "bold underline",
    },
)
THEMES: Final = (DARK, LIGHT, CONTRAST, PLAIN)


def uses_terminal_colours(name: str) -> bool | None:
    """True for the theme that leaves the colours to the terminal, else None: Textual then asks the theme.

    Textual must know this from the start. If it is set later, NO_COLOR makes everything black on black.
    """
    return name == PLAIN.name or None
