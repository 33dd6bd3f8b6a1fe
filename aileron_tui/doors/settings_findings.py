"""What in the settings around an agent weakens the gate, and reading those settings."""

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import tomli

from aileron_tui.core.errors import AileronError
from aileron_tui.core.json_edit import JsonTextError, parse
from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass

_LARGEST: Final = 4 * 1024 * 1024


class SettingsFault(AileronError):
    """Settings of an agent that cannot be read or changed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that weakens the gate. `switches_off` means that calls do not reach the gate at all.

    The texts may contain foreign text.
    """

    words: str
    fix: str
    switches_off: bool = False


def read_text(path: Path) -> str | None:
    """What a file contains, or None if there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # reading a pipe or a terminal would wait
                raise SettingsFault(f"{path} is not a regular file")
            data = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SettingsFault(f"cannot read {path}", (error.strerror or str(error)).lower()) from None
    if len(data) > _LARGEST:
        raise SettingsFault(f"{path} is too large", f"more than {_LARGEST:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsFault(f"{path} is not UTF-8", f"line {line}", "Fix it, then try again.") from None


def read_json(path: Path, *, comments: bool = False) -> JsonObject | None:
    """The object in a file of settings, or None if there is no such file or it is empty."""
    text = read_text(path)
    if text is None or not text.strip():
        return None
    try:
        value = parse(text, comments=comments).value
    except JsonTextError as error:
        detail = f"line {error.line}: {error.title}" if error.line else error.title
        raise SettingsFault(f"{path} is not valid JSON", detail, "Fix it, then try again.") from None
    if not isinstance(value, dict):
        raise SettingsFault(f"{path} is not valid", "it is not an object", "Fix it, then try again.")
    return value


def read_toml(path: Path) -> JsonObject | None:
    """The tables in a TOML file, or None if there is no such file."""
    text = read_text(path)
    if text is None:
        return None
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise SettingsFault(f"{path} is not valid TOML", str(error), "Fix it, then try again.") from None


def at(value: Json, *path: str) -> Json:
    """The value at a path of keys, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def handlers(settings: JsonObject | None, event: str) -> Iterator[JsonObject]:
    """Every handler of a hook event, each with the matcher of its group as `matcher`."""
    groups = at(settings, "hooks", event)
    for group in groups if isinstance(groups, list) else ():
        listed = at(group, "hooks")
        for handler in listed if isinstance(listed, list) else ():
            if isinstance(handler, dict):
                yield {**handler, "matcher": at(group, "matcher")}


def texts(value: Json) -> list[str]:
    """The texts in a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def project_folders(folder: Path, home: Path) -> list[Path]:
    """The folder and those above it up to its repository, without the home folder unless it is that folder itself."""
    found: list[Path] = []
    for place in (folder, *folder.parents):
        if place == home and found:
            break
        found.append(place)
        if place == home or (place / ".git").exists():
            return found
    return found[:1]


def variable_findings(env: Mapping[str, str], names: tuple[str, ...], title: str) -> Iterator[Finding]:
    """Environment variables that are set here and switch hooks off."""
    for name in names:
        if env.get(name, "") not in ("", "0", "false"):
            yield Finding(f"{name} is set, so {title} skips hooks", f"Unset {name}.", switches_off=True)


def system_folder(linux: str, mac: str) -> Path:
    """The folder of settings that an administrator manages."""
    return Path(mac if sys.platform == "darwin" else linux)
