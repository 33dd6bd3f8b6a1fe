"""The checks on every HTTP request to the page, in this order: Host, content type, Origin, Sec-Fetch-Site.

A browser sets these headers, and a page of somebody else cannot change them: a name that is pointed at this machine
(DNS rebinding) is in Host, a form cannot send JSON, and a script of another origin is named in Origin or
Sec-Fetch-Site. Other programs of this user can send anything; they have no session.
"""

from typing import Final

from aileron_tui.core.values import dataclass
from aileron_tui.gate.http_request import HttpRequest, Refusal
from aileron_tui.gate.origin_check import HeaderList, single_header

TAB_HEADER: Final = b"x-aileron-tab"

_LONGEST_COOKIES: Final = 8192
_NOT_FROM_HERE: Final = "only this page itself may call this"
_NAVIGATIONS: Final = {b"sec-fetch-mode": ("navigate",), b"sec-fetch-dest": ("document",)}


@dataclass(frozen=True, slots=True)
class PageRequestCheck:
    """The origin of the page, and the checks against it."""

    origin: str

    @property
    def host(self) -> str:
        """The only Host that is accepted."""
        return self.origin.removeprefix("http://")

    def check(self, http_request: HttpRequest, *, opens_page: bool, from_anywhere: bool = False) -> None:
        """Refuses what this page did not send. `opens_page` is for the page itself, which links may lead to.

        `from_anywhere` is for what another page may load, such as the file that leads to this page.
        """
        headers, method = http_request.raw.scope["headers"], http_request.raw.method
        if single_header(headers, b"host") != self.host:
            raise Refusal(403, "forbidden_host", f"the page is only served at {self.origin}")
        if single_header(headers, b"authorization") is not None:
            raise Refusal(403, "forbidden", "tokens of agents and approvers open nothing here")
        changes = method not in ("GET", "HEAD")
        if changes and (method != "DELETE" or _has_body(headers)) and not _is_json(headers):
            raise Refusal(415, "unsupported_media_type", "send the body as Content-Type: application/json")
        origin = single_header(headers, b"origin")
        if origin != self.origin and (changes or origin is not None):
            raise Refusal(403, "forbidden_origin", _NOT_FROM_HERE)
        if opens_page:
            self._check_navigation(headers)
        elif not from_anywhere and single_header(headers, b"sec-fetch-site") not in (None, "same-origin"):
            raise Refusal(403, "forbidden_origin", _NOT_FROM_HERE)

    @staticmethod
    def _check_navigation(headers: HeaderList) -> None:
        """The page must be opened as a page, not loaded into another one."""
        for name, expected in _NAVIGATIONS.items():
            if single_header(headers, name) not in (None, *expected):
                raise Refusal(403, "forbidden_origin", "open this page by itself, not inside another one")


def cookie_values(headers: HeaderList, name: str) -> list[str]:
    """The cookies with this name. A server on another port may have added some."""
    text = "; ".join(value.decode("latin-1") for key, value in headers if key == b"cookie")
    if len(text) > _LONGEST_COOKIES:
        return []
    pairs = (part.strip().partition("=") for part in text.split(";"))
    return [value for key, _, value in pairs if key == name and value]


def tab_token(headers: HeaderList) -> str:
    """The token of the tab, "" if there is none."""
    return single_header(headers, TAB_HEADER) or ""


def _has_body(headers: HeaderList) -> bool:
    length = single_header(headers, b"content-length") or "0"
    return length != "0" or single_header(headers, b"transfer-encoding") is not None


def _is_json(headers: HeaderList) -> bool:
    media_type = single_header(headers, b"content-type") or ""
    return media_type.partition(";")[0].strip().lower() == "application/json"
