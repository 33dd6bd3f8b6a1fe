"""A desktop without a screen: a private D-Bus, a virtual display, and dunst, a real notification service."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

_BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""
_DUNST = """[global]
    dmenu = {chooser}
    idle_threshold = 0
    markup = full
    notification_limit = 20
    history_length = 100
[urgency_normal]
    timeout = 0
"""


class DesktopSession:
    """The running programs, and a person who looks at the notifications and presses their buttons."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self.address = f"unix:path={folder / 'bus'}"
        (folder / "bus.conf").write_text(_BUS.format(socket=folder / "bus"))
        (folder / "dunstrc").write_text(_DUNST.format(chooser=folder / "choose"))
        (folder / "choose").write_text(f'#!/bin/sh\ngrep -m1 "$(cat {folder}/choice)"\n')
        (folder / "choose").chmod(0o700)
        self.bus = self._started(["dbus-daemon", "--nofork", f"--config-file={folder / 'bus.conf'}"])
        wait_until((folder / "bus").exists)
        self._display = self._virtual_display()
        self.dunst = self.start_dunst()

    @property
    def env(self) -> dict[str, str]:
        """The environment of programs of this desktop."""
        home = {"HOME": str(self._folder), "XDG_RUNTIME_DIR": str(self._folder)}
        return {**os.environ, **home, "DBUS_SESSION_BUS_ADDRESS": self.address, "DISPLAY": self._display}

    def start_dunst(self) -> "subprocess.Popen[bytes]":
        """Starts the notification service and waits until it answers."""
        dunst = self._started(["dunst", "-config", str(self._folder / "dunstrc")], env=self.env)
        wait_until(lambda: self._dunstctl("count", "displayed").strip().isdigit())
        return dunst

    def count(self) -> int:
        """How many notifications are on the screen."""
        return int(self._dunstctl("count", "displayed"))

    def press(self, title: str) -> None:
        """Presses a button of the newest notification, in the menu that dunst makes of the buttons."""
        (self._folder / "choice").write_text(f"#{title} ")
        self._dunstctl("context")

    def click(self) -> None:
        """Clicks on the newest notification."""
        self._dunstctl("action", "0")

    def bodies(self) -> list[str]:
        """Closes every notification, and returns the bodies of all that were shown, newest first."""
        self._dunstctl("close-all")
        history: Any = json.loads(self._dunstctl("history"))
        return [entry["body"]["data"] for group in history["data"] for entry in group]

    def _dunstctl(self, *words: str) -> str:
        done = subprocess.run(
            ["dunstctl", *words], env=self.env, capture_output=True, text=True, check=False, timeout=20
        )
        return done.stdout

    def _virtual_display(self) -> str:
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
        self._started(command, pass_fds=(write,))
        os.close(write)
        with os.fdopen(read) as number:
            return f":{number.readline().strip()}"

    def _started(self, command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        log = self._stack.enter_context((self._folder / f"{Path(command[0]).name}.log").open("ab"))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)
        self._stack.callback(_ended, process)
        return process


def _ended(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGCONT)
    process.terminate()
    process.wait(10)


def wait_until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@contextmanager
def running_desktop(folder: Path) -> Iterator[DesktopSession]:
    """Runs the programs until the block ends."""
    with ExitStack() as stack:
        yield DesktopSession(folder, stack)
