"""Opens the page, or a sign-in, in the system's browser, without its code in the arguments of any process.

Other users, and programs of this user, can see the arguments of a process. So the browser is given the name of a
private file, which leads it there. The file is removed when its code has expired, or the sign-in has ended.

While no gate runs, another program can listen on its port, and leave a service worker or a cached copy in the browser
that would be shown in place of the page. So the file first has the browser forget what it keeps for the page.
"""

import hashlib
import html
import os
import secrets
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from aileron_tui.files.paths import paths
from aileron_tui.files.private_files import PrivateFileError, private_folder, write_private

CODE_SECONDS: Final = 30

_FILE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Opening the page</title>
</head>
<body data-url="{url}" data-clear="{clear}">
<p>Opening the page…</p>
<noscript>The page needs JavaScript.</noscript>
<script>
const {{ url, clear }} = document.body.dataset;
const image = new Image();
image.onload = () => location.replace(url);
image.onerror = () => {{ document.querySelector("p").textContent = "The gate did not answer. Try again."; }};
image.src = clear;
</script>
</body>
</html>
"""


_SIGN_IN_FILE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Signing in</title>
</head>
<body data-url="{url}">
<p><a href="{url}">Sign in</a></p>
<script>location.replace(document.body.dataset.url);</script>
</body>
</html>
"""


def has_browser() -> bool:
    """Whether there is a browser that opens a window, not one that takes over the terminal."""
    is_linux = not sys.platform.startswith(("darwin", "win"))
    has_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if is_linux and not has_screen:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def open_in_browser(
    url: str,
    opens: Callable[[str], bool] = webbrowser.open,
    wait: Callable[[float], None] = time.sleep,
) -> bool:
    """Opens the page through a private file and removes it when its code has expired; returns whether that worked."""
    folder = private_folder(paths().data / "page")
    _remove_left_over(folder)
    file = folder / f"open-{secrets.token_hex(8)}.html"
    try:
        write_private(file, _FILE.format(url=html.escape(url), clear=html.escape(_clear_url(url))).encode())
        if not opens(file.as_uri()):
            return False
        wait(CODE_SECONDS)
    finally:
        file.unlink(missing_ok=True)
    return True


@contextmanager
def sign_in_opener(opens: Callable[[str], bool] = webbrowser.open) -> Iterator[Callable[[str], None]]:
    """What opens the address of a sign-in through a private file, which is removed at the end of the block.

    With the state in that address, a program of another user could answer the sign-in with an account of its own.
    """
    folder = private_folder(paths().data / "page")
    _remove_left_over(folder)
    file = folder / f"open-{secrets.token_hex(8)}.html"

    def open_address(address: str) -> None:
        with suppress(PrivateFileError):  # the address is also shown
            write_private(file, _SIGN_IN_FILE.format(url=html.escape(address)).encode())
            opens(file.as_uri())

    try:
        yield open_address
    finally:
        file.unlink(missing_ok=True)


def _clear_url(url: str) -> str:
    """What makes the browser forget what it keeps for the page; the gate knows the digest of the code."""
    page, _, code = url.partition("#code=")
    return f"{page}/clear/{hashlib.sha256(unquote(code).encode()).hexdigest()}"


def _remove_left_over(folder: Path) -> None:
    """Removes the files of commands that were killed. Their codes have expired."""
    for file in folder.glob("open-*.html"):
        with suppress(OSError):
            if file.lstat().st_mtime < time.time() - CODE_SECONDS:
                file.unlink()
