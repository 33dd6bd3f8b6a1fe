"""The file that lets systemd or launchd run the gate for this user: what is in it, where it is, and how to use it."""

import plistlib
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from aileron_tui.core.errors import AileronError
from aileron_tui.core.values import dataclass
from aileron_tui.files.paths import HOME_VARIABLE

_NAME: Final = "aileron-tui"
_LABEL: Final = "aileron-tui.gate"
_STOP_SECONDS: Final = 70
"""How long a gate may take to stop: a minute at most, whatever hangs."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_@+=:,./-]+", re.ASCII)
_UNIT: Final = """\
[Unit]
Description=aileron-tui gate, which asks a person before an agent's call runs
StartLimitIntervalSec=120
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{environment}Restart=on-failure
RestartSec=5
TimeoutStartSec=300
TimeoutStopSec={stop_seconds}
WatchdogSec=120
UMask=0077

[Install]
WantedBy=default.target
"""


class NoService(AileronError):
    """A service file cannot be written for this system."""


@dataclass(frozen=True, slots=True)
class ServiceFile:
    """A service file, and the commands that use it: each with what it is for."""

    path: Path
    content: str
    commands: tuple[tuple[str, str], ...]


def service_file(options: Sequence[str], environment: Mapping[str, str], system: str = sys.platform) -> ServiceFile:
    """The service file for this system. `options` are those of `gate`."""
    # -P: a folder named like the package in the working folder must not be taken for it.
    command = [str(Path(sys.executable).absolute()), "-P", "-m", "aileron_tui", "gate", *options]
    home = environment.get(HOME_VARIABLE, "")
    variables = {HOME_VARIABLE: str(Path(home).expanduser().absolute())} if home else {}
    for word in (*command, *variables.values()):
        if not word.isprintable():
            raise NoService("a path or an option contains a control character", repr(word))
    if system == "darwin":
        return _launchd(command, variables, environment)
    if system.startswith("linux"):
        return _systemd(command, variables, environment)
    raise NoService(f"there are no service files for {system}", hint="Only systemd and launchd are supported.")


def _systemd(command: Sequence[str], variables: Mapping[str, str], environment: Mapping[str, str]) -> ServiceFile:
    unit, control = f"{_NAME}.service", "systemctl --user"
    folder = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    lines = [f"Environment={_word(f'{name}={value}')}\n" for name, value in variables.items()]
    # Only in a command, systemd replaces variables.
    words = " ".join(_word(word).replace("$", "$$") for word in command)
    content = _UNIT.format(command=words, environment="".join(lines), stop_seconds=_STOP_SECONDS)
    return ServiceFile(
        folder / unit,
        content,
        (
            ("start it now and at each login", f"{control} daemon-reload && {control} enable --now {_NAME}"),
            ("keep it running after you log out", "loginctl enable-linger"),
            ("see how it is", f"{control} status {_NAME}"),
            ("read its log", f"journalctl --user -u {_NAME} -f"),
            ("stop it until the next login", f"{control} stop {_NAME}"),
            ("undo all of this", f"{control} disable --now {_NAME} && rm {_shell_word(folder / unit)}"),
        ),
    )


def _launchd(command: Sequence[str], variables: Mapping[str, str], environment: Mapping[str, str]) -> ServiceFile:
    home = Path(environment.get("HOME") or Path.home())
    path, log = home / "Library" / "LaunchAgents" / f"{_LABEL}.plist", home / "Library" / "Logs" / f"{_NAME}.log"
    content = plistlib.dumps(
        {
            "Label": _LABEL,
            "ProgramArguments": list(command),
            **({"EnvironmentVariables": dict(variables)} if variables else {}),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ExitTimeOut": _STOP_SECONDS,
            "StandardErrorPath": str(log),
            "Umask": 0o077,
        },
        sort_keys=False,
    ).decode()
    file = _shell_word(path)
    return ServiceFile(
        path,
        content,
        (
            ("start it now and at each login", f"launchctl bootstrap gui/$(id -u) {file}"),
            ("see how it is", f"launchctl print gui/$(id -u)/{_LABEL}"),
            ("read its log", f"tail -f {_shell_word(log)}"),
            ("stop it until the next login", f"launchctl bootout gui/$(id -u)/{_LABEL}"),
            ("undo all of this", f"launchctl bootout gui/$(id -u)/{_LABEL}; rm {file}"),
        ),
    )


def _word(text: str) -> str:
    """A word as systemd reads it: in quotes if needed, with `%` doubled."""
    text = text.replace("%", "%%")
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _shell_word(path: Path) -> str:
    from shlex import quote  # noqa: PLC0415  # only for paths with spaces

    return quote(str(path))
