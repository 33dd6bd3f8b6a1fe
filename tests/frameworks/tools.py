"""The gated functions that the agents of all frameworks have as tools."""

from aileron_tui.gated import GatedError, gated

MOVED: list[tuple[str, str]] = []


@gated(name="move_file", timeout=2)
def move(source: str, target: str) -> str:
    """Moves a file."""
    MOVED.append((source, target))
    return f"moved {source} to {target}"


@gated(name="move_file", timeout=2)
async def move_async(source: str, target: str) -> str:
    """Moves a file."""
    MOVED.append((source, target))
    return f"moved {source} to {target}"


def move_file(source: str, target: str) -> str:
    """Moves a file. The agent reads why it was not moved."""
    try:
        return move(source, target)
    except GatedError as error:
        return str(error)


async def move_file_async(source: str, target: str) -> str:
    """Moves a file. The agent reads why it was not moved."""
    try:
        return await move_async(source, target)
    except GatedError as error:
        return str(error)


ARGUMENTS = {"source": "a.txt", "target": "b.txt"}
