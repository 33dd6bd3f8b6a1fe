"""The tools of coding agents, one declaration for each: names, args, question and what the tool is for.

Agents use the same name for different tools (`edit`), so a declaration applies only if the args fit: every required one
is there and each has its type. To add a tool, declare it in `KINDS`. A tool that is not listed is shown with all args.

Most names and args were read from Claude Code 2.1.325, Gemini CLI 0.61, Copilot CLI 1.0.102 and opencode 1.18. Others
come from the documentation of other versions. If one is wrong, its calls are shown with all args and a warning.
"""

from typing import Final

from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.tool_kind import ArgRole, ToolArgument, ToolKind, ToolUse


def kind_of(tool: str, args: JsonObject) -> ToolKind | None:
    """The declaration that fits a call best, or None. Args that it does not declare are in `unknown_names`."""
    fitting = [kind for kind in _BY_NAME.get(tool, ()) if all(argument.fits(args) for argument in kind.arguments)]
    return min(fitting, key=lambda kind: len(unknown_names(kind, args)), default=None)


def unknown_names(kind: ToolKind, args: JsonObject) -> tuple[str, ...]:
    """The args of a call that its declaration does not have."""
    known = {argument.name for argument in kind.arguments}
    return tuple(name for name in args if name not in known)


def is_known_tool(tool: str) -> bool:
    """Whether a tool of this name is declared, whatever its args."""
    return tool in _BY_NAME


def uses_of(tool: str) -> frozenset[ToolUse]:
    """What tools of this name are for."""
    return frozenset(kind.use for kind in _BY_NAME.get(tool, ()))


def _arg(name: str, label: str, role: ArgRole = ArgRole.PLAIN, type: str = "text") -> ToolArgument:  # noqa: A002
    return ToolArgument(name.rstrip("?"), label, type, role, name.endswith("?"))


def _number(name: str, label: str) -> ToolArgument:
    return ToolArgument(name, label, "number", optional=True)


def _flag(name: str, label: str, role: ArgRole = ArgRole.PLAIN) -> ToolArgument:
    return ToolArgument(name, label, "flag", role, optional=True)


_R: Final = ArgRole
_WORDS: Final = _arg("description?", "Agent says", _R.WORDS)
_RUN, _WRITE, _EDIT, _READ, _FETCH, _SEARCH = (
    "Run this command?",
    "Write this file?",
    "Edit this file?",
    "Read this?",
    "Fetch this page?",
    "Search the web?",
)
_LEAKS: Final = "may leak data by URL"
_QUERY: Final = "may leak data by query"
_READS: Final = "only reads"
_WRITES: Final = "writes a file"


def _grep(*arguments: ToolArgument) -> tuple[ToolArgument, ...]:
    numbers = [_number(name, name) for name in ("-A", "-B", "-C", "head_limit", "offset", "context")]
    flags = [_flag(name, name) for name in ("-n", "-i", "-o", "multiline")]
    texts = [
        _arg(f"{name}?", label) for name, label in (("glob", "Files"), ("output_mode", "Output"), ("type", "Type"))
    ]
    return (_arg("pattern", "Pattern"), *arguments, *texts, *flags, *numbers)


KINDS: Final = (
    # Shells
    ToolKind(
        ("Bash", "bash", "PowerShell"),
        ToolUse.SHELL,
        _RUN,
        (
            _arg("command", "Command", _R.COMMAND),
            _number("timeout", "Timeout"),
            _flag("run_in_background", "In background"),
            _flag("dangerouslyDisableSandbox", "Without sandbox", _R.POWER),
            _WORDS,
        ),
    ),
    ToolKind(
        ("bash",),
        ToolUse.SHELL,
        _RUN,
        (
            _arg("command", "Command", _R.COMMAND),
            _arg("shellId?", "Shell"),
            _arg("mode?", "Mode"),
            _flag("detach", "Detached"),
            _number("initial_wait", "Wait"),
            _WORDS,
        ),
    ),
    ToolKind(
        ("bash",),
        ToolUse.SHELL,
        _RUN,
        (
            _arg("command", "Command", _R.COMMAND),
            _arg("workdir?", "Folder", _R.FOLDER),
            _number("timeout", "Timeout"),
            _WORDS,
        ),
    ),
    ToolKind(
        ("run_shell_command",),
        ToolUse.SHELL,
        _RUN,
        (
            _arg("command", "Command", _R.COMMAND),
            _arg("dir_path?", "Folder", _R.FOLDER),
            _flag("is_background", "In background"),
            _arg("additional_permissions?", "More permissions", _R.POWER, "object"),
            _WORDS,
        ),
    ),
    ToolKind(
        ("Monitor",),
        ToolUse.SHELL,
        _RUN,
        (_arg("command", "Command", _R.COMMAND), _number("timeout_ms", "Timeout"), _WORDS),
    ),
    # Files that are written whole
    ToolKind(
        ("Write", "write_file"),
        ToolUse.WRITE,
        _WRITE,
        (_arg("file_path", "File", _R.PATH), _arg("content", "Content", _R.CONTENT)),
        _WRITES,
    ),
    ToolKind(
        ("write",),
        ToolUse.WRITE,
        _WRITE,
        (_arg("filePath", "File", _R.PATH), _arg("content", "Content", _R.CONTENT)),
        _WRITES,
    ),
    ToolKind(
        ("create",),
        ToolUse.WRITE,
        _WRITE,
        (_arg("path", "File", _R.PATH), _arg("file_text", "Content", _R.CONTENT)),
        _WRITES,
    ),
    # Edits
    ToolKind(
        ("Edit",),
        ToolUse.EDIT,
        _EDIT,
        (
            _arg("file_path", "File", _R.PATH),
            _arg("old_string", "Replace", _R.OLD),
            _arg("new_string", "With", _R.NEW),
            _flag("replace_all", "Every occurrence", _R.EVERY),
        ),
        _WRITES,
        takes_line_end=True,
    ),
    ToolKind(
        ("MultiEdit",),
        ToolUse.EDIT,
        _EDIT,
        (_arg("file_path", "File", _R.PATH), _arg("edits", "Edits", _R.EDITS, "list")),
        _WRITES,
        takes_line_end=True,
    ),
    ToolKind(
        ("replace",),
        ToolUse.EDIT,
        _EDIT,
        (
            _arg("file_path", "File", _R.PATH),
            _arg("old_string", "Replace", _R.OLD),
            _arg("new_string", "With", _R.NEW),
            _flag("allow_multiple", "Every occurrence", _R.EVERY),
            _arg("instruction?", "Agent says", _R.WORDS),
        ),
        _WRITES,
        is_loose=True,
    ),
    ToolKind(
        ("edit",),
        ToolUse.EDIT,
        _EDIT,
        (
            _arg("filePath", "File", _R.PATH),
            _arg("oldString", "Replace", _R.OLD),
            _arg("newString", "With", _R.NEW),
            _flag("replaceAll", "Every occurrence", _R.EVERY),
        ),
        _WRITES,
        is_loose=True,
    ),
    ToolKind(
        ("edit", "str_replace"),
        ToolUse.EDIT,
        _EDIT,
        (_arg("path", "File", _R.PATH), _arg("old_str", "Replace", _R.OLD), _arg("new_str?", "With", _R.NEW)),
        _WRITES,
    ),
    *(
        ToolKind(
            ("apply_patch", "patch"), ToolUse.PATCH, "Apply this patch?", (_arg(name, "Patch", _R.PATCH),), _WRITES
        )
        for name in ("command", "input", "patch", "patchText")
    ),
    ToolKind(
        ("NotebookEdit",),
        ToolUse.NOTEBOOK,
        "Edit this notebook?",
        (
            _arg("notebook_path", "File", _R.PATH),
            _arg("edit_mode?", "Mode"),
            _arg("cell_id?", "Cell"),
            _arg("cell_type?", "Type"),
            _arg("new_source", "Source", _R.CONTENT),
        ),
        _WRITES,
    ),
    # Reading
    ToolKind(
        ("Read",),
        ToolUse.READ,
        _READ,
        (
            _arg("file_path", "File", _R.PATH),
            _number("offset", "From line"),
            _number("limit", "Lines"),
            _arg("pages?", "Pages"),
            _flag("allow_large", "Large files too"),
        ),
    ),
    ToolKind(
        ("read_file",),
        ToolUse.READ,
        _READ,
        (_arg("file_path", "File", _R.PATH), _number("start_line", "From line"), _number("end_line", "To line")),
    ),
    ToolKind(
        ("read",),
        ToolUse.READ,
        _READ,
        (_arg("filePath", "File", _R.PATH), _number("offset", "From line"), _number("limit", "Lines")),
    ),
    ToolKind(
        ("view",),
        ToolUse.READ,
        _READ,
        (
            _arg("path", "File", _R.PATH),
            _arg("view_range?", "Lines", type="list"),
            _flag("forceReadLargeFiles", "Large files too"),
        ),
    ),
    ToolKind(
        ("read_many_files",),
        ToolUse.READ,
        _READ,
        (
            _arg("include", "Files", _R.PATTERN, "texts"),
            _arg("exclude?", "Without", type="texts"),
            _flag("recursive", "Recursive"),
            _flag("useDefaultExcludes", "Usual exclusions"),
            _arg("file_filtering_options?", "Filter", type="object"),
        ),
    ),
    ToolKind(("LS",), ToolUse.READ, _READ, (_arg("path", "Folder", _R.PATH), _arg("ignore?", "Without", type="texts"))),
    ToolKind(
        ("list_directory",),
        ToolUse.READ,
        _READ,
        (
            _arg("dir_path", "Folder", _R.PATH),
            _arg("ignore?", "Without", type="texts"),
            _arg("file_filtering_options?", "Filter", type="object"),
        ),
    ),
    ToolKind(
        ("list",), ToolUse.READ, _READ, (_arg("path?", "Folder", _R.PATH), _arg("ignore?", "Without", type="texts"))
    ),
    ToolKind(
        ("Glob", "glob"),
        ToolUse.READ,
        _READ,
        (_arg("pattern", "Pattern", _R.PATTERN), _arg("path?", "Folder", _R.PATH)),
    ),
    ToolKind(
        ("glob",),
        ToolUse.READ,
        _READ,
        (_arg("pattern", "Pattern", _R.PATTERN), _arg("paths", "Folders", _R.PATH, "texts")),
    ),
    ToolKind(
        ("glob",),
        ToolUse.READ,
        _READ,
        (
            _arg("pattern", "Pattern", _R.PATTERN),
            _arg("dir_path?", "Folder", _R.PATH),
            _flag("case_sensitive", "Case matters"),
            _flag("respect_git_ignore", "Use .gitignore"),
            _flag("respect_gemini_ignore", "Use .geminiignore"),
        ),
    ),
    ToolKind(("Grep",), ToolUse.READ, _READ, _grep(_arg("path?", "Folder", _R.PATH))),
    ToolKind(("grep",), ToolUse.READ, _READ, _grep(_arg("paths?", "Folders", _R.PATH, "texts"))),
    ToolKind(
        ("grep",),
        ToolUse.READ,
        _READ,
        (_arg("pattern", "Pattern"), _arg("path?", "Folder", _R.PATH), _arg("include?", "Files")),
    ),
    ToolKind(
        ("grep_search", "search_file_content"),
        ToolUse.READ,
        _READ,
        (
            _arg("pattern", "Pattern"),
            _arg("dir_path?", "Folder", _R.PATH),
            *(_arg(f"{name}?", name) for name in ("include_pattern", "exclude_pattern", "include")),
            *(_flag(name, name) for name in ("names_only", "case_sensitive", "fixed_strings", "no_ignore")),
            *(
                _number(name, name)
                for name in ("context", "after", "before", "max_matches_per_file", "total_max_matches")
            ),
        ),
    ),
    ToolKind(("BashOutput",), ToolUse.READ, _READ, (_arg("bash_id", "Shell"), _arg("filter?", "Filter"))),
    ToolKind(("read_bash",), ToolUse.READ, _READ, (_arg("shellId", "Shell"), _number("delay", "Wait"))),
    ToolKind(("list_bash", "list_agents"), ToolUse.READ, _READ, ()),
    # The web
    ToolKind(
        ("WebFetch",),
        ToolUse.FETCH,
        _FETCH,
        (_arg("url", "URL", _R.URL), _arg("prompt", "Prompt"), _number("offset", "Offset")),
        _LEAKS,
    ),
    ToolKind(
        ("webfetch",),
        ToolUse.FETCH,
        _FETCH,
        (_arg("url", "URL", _R.URL), _arg("format?", "Format"), _number("timeout", "Timeout")),
        _LEAKS,
    ),
    ToolKind(("web_fetch",), ToolUse.FETCH, _FETCH, (_arg("url", "URL", _R.URL),), _LEAKS),
    ToolKind(("web_fetch",), ToolUse.FETCH, _FETCH, (_arg("prompt", "Prompt", _R.URLS),), _LEAKS),
    ToolKind(
        ("WebSearch",),
        ToolUse.SEARCH,
        _SEARCH,
        (
            _arg("query", "Query"),
            _arg("allowed_domains?", "Only hosts", type="texts"),
            _arg("blocked_domains?", "Without hosts", type="texts"),
        ),
        _QUERY,
    ),
    ToolKind(
        ("google_web_search", "web_search", "websearch"), ToolUse.SEARCH, _SEARCH, (_arg("query", "Query"),), _QUERY
    ),
    # Agents, plans and lists
    ToolKind(
        ("Agent", "Task"),
        ToolUse.OTHER,
        "Start another agent?",
        (
            _arg("prompt", "Prompt"),
            _arg("subagent_type?", "Type"),
            _arg("model?", "Model"),
            _arg("effort?", "Effort"),
            _arg("name?", "Name"),
            _arg("team_name?", "Team"),
            _arg("isolation?", "Isolation"),
            _flag("run_in_background", "In background"),
            _arg("mode?", "Permission mode", _R.POWER),
            _WORDS,
        ),
        "starts another agent",
    ),
    ToolKind(
        ("task",),
        ToolUse.OTHER,
        "Start another agent?",
        (
            _arg("prompt", "Prompt"),
            *(
                _arg(f"{name}?", label)
                for name, label in (
                    *(("subagent_type", "Type"), ("agent_type", "Type"), ("name", "Name"), ("task_id", "Task")),
                    *(("command", "Command"), ("model", "Model"), ("mode", "Mode"), ("reasoning_effort", "Effort")),
                    ("context_tier", "Context"),
                )
            ),
            _WORDS,
        ),
        "starts another agent",
    ),
    ToolKind(
        ("ExitPlanMode",),
        ToolUse.OTHER,
        "Accept this plan?",
        (
            _arg("plan?", "Plan"),
            _arg("planFilePath?", "Plan file"),
            _arg("allowedPrompts?", "Asks to allow", _R.POWER, "list"),
        ),
        "the agent starts to work",
    ),
    ToolKind(
        ("exit_plan_mode",),
        ToolUse.OTHER,
        "Accept this plan?",
        (_arg("plan_filename", "Plan file"),),
        "the agent starts to work",
    ),
    ToolKind(
        ("TodoWrite", "todowrite", "write_todos"),
        ToolUse.NOTES,
        "",
        (_arg("todos", "List", type="list"),),
        "only its own list",
    ),
    ToolKind(
        ("AskUserQuestion", "ask_user"),
        ToolUse.NOTES,
        "",
        (_arg("questions", "Questions", type="list"),),
        "only asks you",
    ),
    ToolKind(
        ("KillShell", "TaskStop"), ToolUse.OTHER, "Stop this shell?", (_arg("shell_id", "Shell"),), "stops a program"
    ),
    ToolKind(("TaskStop",), ToolUse.OTHER, "Stop this task?", (_arg("task_id", "Task"),), "stops a program"),
    ToolKind(("stop_bash",), ToolUse.OTHER, "Stop this shell?", (_arg("shellId", "Shell"),), "stops a program"),
    ToolKind(("save_memory",), ToolUse.OTHER, "Save this memory?", (_arg("fact", "Fact"),), "changes its memory"),
)
"""Every declared tool."""


def _by_name() -> dict[str, tuple[ToolKind, ...]]:
    found: dict[str, tuple[ToolKind, ...]] = {}
    for kind in KINDS:
        for name in kind.names:
            found[name] = (*found.get(name, ()), kind)
    return found


_BY_NAME: Final = _by_name()
