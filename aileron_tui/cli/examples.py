"""The examples in `--help` and in the manual page: for each command, lines to type and what they do."""

from collections.abc import Mapping
from typing import Final

EXAMPLES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "": (
        ("aileron-tui", "open the console"),
        ("aileron-tui --url http://127.0.0.1:54321 --token-file ~/.aileron/builder.token", "on a daemon that you name"),
    ),
    "demo": (
        ("aileron-tui demo", "the console with sample mail, an agent and a guide"),
        ("aileron-tui demo --no-agent", "be the agent yourself, from another terminal"),
    ),
    "gate": (
        ("aileron-tui gate", "run the gate; it prints its address and a token file"),
        ("aileron-tui gate --manifests ~/src/mail-suite", "with actions that you are writing"),
        ("aileron-tui gate --service", "write a file for systemd or launchd that runs it"),
    ),
    "setup": (
        ("aileron-tui setup claude", "put Claude Code behind the gate"),
        ("aileron-tui setup claude --undo", "take that back"),
        ("aileron-tui setup mcp --client cursor --wrap files", "put an MCP server of Cursor behind the gate"),
    ),
    "run": (
        ("aileron-tui run send-draft --arg draft_id=r-12345 --wait 60", "wait a minute for the answer"),
        ("""aileron-tui run move-file --args '{"file_id": "f-1001", "folder_id": "d-reports"}'""", "inputs as JSON"),
    ),
    "result": (("aileron-tui result ID --wait 60", "the result of a call that was still waiting"),),
    "hook": (("aileron-tui hook claude --timeout 600", "what an agent runs; `aileron-tui setup` writes it"),),
    "mcp": (("aileron-tui mcp --agent desktop --hold 50", "for a client that gives up after 60 seconds"),),
    "mcp-proxy": (
        ("aileron-tui mcp-proxy --name files", "the server as `aileron-tui setup mcp` set it up"),
        ("aileron-tui mcp-proxy --name files -- npx -y SERVER /srv/files", "another command for the same server"),
    ),
    "list": (("aileron-tui list --json", "for a script; needs no passphrase and shows no previews"),),
    "show": (("aileron-tui show act-1", "the prompt, with its preview once you entered your passphrase"),),
    "approve": (
        ("aileron-tui approve act-1", "show the prompt, ask, sign, and wait for the result"),
        ("aileron-tui approve act-1 --wait 0", "do not wait for the result"),
    ),
    "deny": (('aileron-tui deny act-1 --reason "wrong recipient"', "the agent is told why"),),
    "prompt": (("aileron-tui prompt --once --plain", "one request, for a screen reader"),),
    "page": (
        ("aileron-tui page", "answer in a browser"),
        ("aileron-tui page --print", "only the address, for example over ssh"),
    ),
    "watch": (("aileron-tui watch --json", "one line of JSON for each event"),),
    "history": (
        ('aileron-tui history --search "since:tuesday outcome:approved"', "what was approved since Tuesday"),
        ("aileron-tui history verify", "check the chain, the signatures and the keys"),
        ("aileron-tui history export --format csv --output requests.csv", "for a spreadsheet"),
        ("aileron-tui history reduce --dry-run", "what [ledger] keep would remove"),
        ("aileron-tui history backup ledger-2026-05.db", "copy the ledger, also while the gate runs"),
        ("aileron-tui history restore ledger-2026-05.db", "show what would change, and ask"),
    ),
    "agent": (
        ("aileron-tui agent add laptop-claude", "an agent with a token of its own"),
        ("aileron-tui agent revoke laptop-claude", "its token no longer works"),
    ),
    "rules": (
        ("aileron-tui rules add allow --from act-1 --for 8h", "exactly this call, for eight hours"),
        ("aileron-tui rules list", "what runs without asking, and until when"),
        ("aileron-tui rules end rule-0123", "ask again from now on"),
    ),
    "key": (
        ("aileron-tui key init", "create your key, and let it approve here"),
        ("aileron-tui key security-key add --name blue", "a security key for high risk"),
    ),
    "add": (
        ("aileron-tui add ~/src/mail-suite", "from a folder"),
        ("aileron-tui add https://example.com/releases/aileron.tar.gz", "from a release"),
        ("aileron-tui add github://owner/repo@1.2.3 --follow-redirects", "from a release on GitHub"),
    ),
    "update": (
        ("aileron-tui update", "look for a new version of everything, and show what is new"),
        ("aileron-tui update mail ~/src/mail-suite", "one package, from another place"),
    ),
    "remove": (("aileron-tui remove mail", "remove a package; its waiting requests are withdrawn"),),
    "installed": (
        ("aileron-tui installed", "every package and what it may do"),
        ("aileron-tui installed --history", "what was approved, declined and removed, and when"),
    ),
    "bind": (
        ("aileron-tui bind google", "let the connector for Google use your account"),
        ("aileron-tui bind google --account work --paste", "another account, signed in with a browser elsewhere"),
    ),
    "bindings": (
        ("aileron-tui bindings", "every account, and whether it can be used"),
        ("aileron-tui bindings --unlock", "let the running gate use those that are locked"),
    ),
    "unbind": (("aileron-tui unbind google --account work", "stop using this account, and remove its secret"),),
    "trust": (
        ("aileron-tui trust github://owner publisher.pub", "a key for all repositories of this owner"),
        ("aileron-tui trust --list", "the trusted keys, and who trusted them"),
        ("aileron-tui trust --remove github://owner", "no longer trust it"),
    ),
    "new": (
        ("aileron-tui new connector tickets", "a repository in ./tickets, in Go"),
        (
            "aileron-tui new connector ~/src/tickets --language c --name github://owner/tickets",
            "in C, with the name that it will be published under",
        ),
        (
            (
                "aileron-tui new action close-note --op close_note --input note_id:string --gated --preview get_note "
                "--show Title=title"
            ),
            "an action that asks, and shows what get_note fetches",
        ),
    ),
    "preview": (
        ("aileron-tui preview send-draft --arg draft_id=r-12345 --demo", "with the sample mailbox"),
        (
            "aileron-tui preview write_file --mcp files --arg path=plan.txt --arg content=later",
            "a tool of an MCP server that was set up",
        ),
    ),
    "pin": (
        ("aileron-tui pin .", "pin every action of this repository"),
        ("aileron-tui pin . --check", "only check, for continuous integration"),
        ("aileron-tui pin . --sign publisher.pem --pack dist", "sign, and make the archives of a release"),
    ),
    "lint": (("aileron-tui lint manifests/", "every problem, with its line and how to fix it"),),
    "doctor": (
        ("aileron-tui doctor", "check everything; changes nothing"),
        ("aileron-tui doctor --alerts", "send a test notification and a test message too"),
    ),
    "completion": (
        ("source <(aileron-tui completion bash)", "in ~/.bashrc; the same for zsh, after compinit"),
        ("aileron-tui completion fish | source", "in config.fish"),
    ),
}


def epilog(command: str) -> str:
    """The examples of a command as text below its options, "" if it has none."""
    rows = "".join(f"  {line}\n      {meaning}\n" for line, meaning in EXAMPLES.get(command, ()))
    return f"\nexamples:\n{rows}" if rows else ""
