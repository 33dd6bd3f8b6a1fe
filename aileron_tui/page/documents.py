"""The HTML of the page. Templates only place values: everything is escaped, and a value that is missing is an error.

The shell has the script and the style in it, and the policy that it is sent with allows exactly these two by their
hashes. Fragments have neither.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from aileron_tui.files.paths import page_folder
from aileron_tui.page.views import HistoryView, PromptView, RecordView, WaitingView

if TYPE_CHECKING:
    from jinja2 import Environment

_POLICY: Final = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types aileron-fragment"
)
_SCRIPTS: Final = (
    *("fragments", "gate", "arming", "reading", "passkeys", "detail", "answers"),
    *("presence", "page", "keys", "start"),
)
"""The files of the script in the order in which they are put together."""

FRAGMENT_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
"""The policy of everything but the shell: if a browser shows it by itself, nothing in it can run or load."""


class Documents:
    """Makes HTML from views. The template engine is loaded when a page is first asked for."""

    @cached_property
    def _environment(self) -> "Environment":
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  # only with the page

        return Environment(
            loader=FileSystemLoader(page_folder() / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    @cached_property
    def shell(self) -> bytes:
        """The page without any data."""
        from markupsafe import Markup  # noqa: PLC0415  # comes with the template engine

        # Our own files; nothing else is ever placed unescaped.
        script, style = Markup(self._script), Markup(self._style)  # noqa: S704
        return self._render("shell.html", {"script": script, "style": style})

    @cached_property
    def policy(self) -> str:
        """The content security policy of the shell."""
        return _POLICY.format(script=_hash(self._script), style=_hash(self._style))

    def waiting(self, view: WaitingView) -> bytes:
        """The list of what waits."""
        return self._render("waiting.html", {"view": view})

    def prompt(self, view: PromptView) -> bytes:
        """One request."""
        return self._render("prompt.html", {"view": view})

    def history(self, view: HistoryView) -> bytes:
        """A page of the history."""
        return self._render("history.html", {"view": view})

    def record(self, view: RecordView) -> bytes:
        """One request of the history."""
        return self._render("record.html", {"view": view})

    def _render(self, name: str, values: Mapping[str, object]) -> bytes:
        return self._environment.get_template(name).render(values).encode()

    @cached_property
    def _script(self) -> str:
        return "\n".join(self._static(f"{name}.js") for name in _SCRIPTS)

    @cached_property
    def _style(self) -> str:
        return self._static("page.css")

    def _static(self, name: str) -> str:
        return (page_folder() / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
