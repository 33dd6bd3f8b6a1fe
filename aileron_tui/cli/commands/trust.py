"""Trust a publisher's key, which signs connectors and actions; list the trusted keys, or remove one."""

import argparse
import sys
from shlex import quote

from aileron_tui.cli import confirmation
from aileron_tui.cli.exit_codes import NOT_FOUND, OK, USAGE
from aileron_tui.cli.ledger_reading import local_reader
from aileron_tui.cli.output import print_error, print_json, print_lines, write, write_error
from aileron_tui.cli.source_options import unlocked_key
from aileron_tui.core.jsontext import Json
from aileron_tui.core.publisher_change import is_authority, key_text
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config_file import load_config
from aileron_tui.files.paths import paths
from aileron_tui.packages.keyring_file import read_publisher_key
from aileron_tui.sandbox.connector_package import PublisherKeyring, load_keyring
from aileron_tui.signing.errors import KeyFault, NoPublisher, PublisherFault
from aileron_tui.signing.public_key import PublicKey
from aileron_tui.signing.secret_memory import protect_process
from aileron_tui.signing.trusted_publishers import TrustedPublishers
from aileron_tui.surface.local_ledgers import gate_ledger
from aileron_tui.surface.publisher_changes import remove_publisher, trust_publisher


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "publisher", metavar="PUBLISHER", nargs="?", help="such as github://owner or github://owner/repo"
    )
    parser.add_argument(
        "public", metavar="KEY", nargs="?", help="a file (PEM, 32 bytes or base64), or the key in base64"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the trusted keys, and who trusted them")
    what.add_argument("--remove", action="store_true", help="no longer trust the publisher's key")
    parser.add_argument("--key", metavar="NAME", help="your own key to sign with; required if there are several")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 on failure or if it was not confirmed, 2 for usage, 5 if there is no such key."""
    if why := _misuse(options):
        write_error(why, "`aileron-tui trust --help` has examples.")
        return USAGE
    if options.list or not options.publisher:
        _list(as_json=options.json)
        return OK
    protect_process()
    try:
        _change(options)
    except NoPublisher as error:
        print_error(error)
        return NOT_FOUND
    return OK


def _misuse(options: argparse.Namespace) -> str:
    if options.list:
        return "--list takes no publisher" if options.publisher else ""
    if not options.publisher:
        return "name the publisher whose key is to be removed" if options.remove else ""
    return "" if options.public or options.remove else "give the publisher's key"


def _change(options: argparse.Namespace) -> None:
    """Trusts or removes a key. What can be refused without the passphrase is refused before asking for it."""
    authority, here = _authority(options.publisher), paths()
    confirmation.check_terminal(load_config(here.config).policy, "changing trusted publishers")
    keyring = load_keyring(here.keyring)
    known = keyring.publishers.get(authority, ())
    public = _to_remove(options, known) if options.remove else read_publisher_key(options.public)
    recorded = _recorded()
    if not options.remove and public.raw in known and (authority, key_text(public.raw)) in recorded:
        _report(options, authority, public, f"{authority} is already trusted with this key")
        return
    write(sys.stderr, *_question_lines(authority, public, len(known), options))
    question = "No longer trust this key?" if options.remove else "Trust this key?"
    confirmation.confirm_change(question, "nothing was changed")
    with unlocked_key(options.key) as key:
        change = remove_publisher if options.remove else trust_publisher
        change(gate_ledger(), here.keyring, authority, public, key)
    _report(options, authority, public, f"{'no longer trusting' if options.remove else 'trusting'} {authority}")


def _authority(text: str) -> str:
    plain = text.rstrip("/")
    if is_authority(plain):
        return plain
    hint = "Write an owner, or one of its repositories, such as github://owner or github://owner/repo."
    for prefix, scheme in (("https://github.com/", "github"), ("https://gitlab.com/", "gitlab")):
        rest = plain.removeprefix(prefix)
        if rest != plain and is_authority(f"{scheme}://{rest}"):
            hint = f"Write {scheme}://{rest}."
    raise PublisherFault(f'"{text}" is not a publisher', hint=hint)


def _to_remove(options: argparse.Namespace, known: tuple[bytes, ...]) -> PublicKey:
    if not known:
        hint = "`aileron-tui trust --list` shows all keys."
        raise NoPublisher(f"no key of {options.publisher} is trusted", hint=hint)
    if options.public:
        public = _named_key(options.public, known)
        if public.raw not in known:
            raise NoPublisher(f"this key of {options.publisher} is not trusted", public.fingerprint)
        return public
    if len(known) > 1:
        detail = ", ".join(PublicKey(raw).fingerprint for raw in known)
        hint = "Name one of them by its fingerprint."
        raise PublisherFault(f"{options.publisher} has several trusted keys", detail, hint)
    return PublicKey(known[0])


def _named_key(text: str, known: tuple[bytes, ...]) -> PublicKey:
    """The trusted key with this fingerprint, or the key that is given like one to trust."""
    for raw in known:
        if PublicKey(raw).fingerprint == text:
            return PublicKey(raw)
    return read_publisher_key(text)


def _question_lines(authority: str, public: PublicKey, known: int, options: argparse.Namespace) -> list[str]:
    lines = [
        "",
        f"Publisher    {inline(authority)}",
        f"Fingerprint  {public.fingerprint}",
        f"Key          {key_text(public.raw)}",
    ]
    if options.remove:
        return [*lines, "", "What was signed with this key is no longer said to be signed by a trusted publisher."]
    whose = "every repository of this owner" if authority.count("/") == 2 else "this repository"
    lines += ["", f"Whoever has this key can publish connectors and actions of {whose} that you then see as signed."]
    lines += ["Compare the fingerprint with one that the publisher gave you in another way."]
    if known:
        lines += [f"! {known} other {'key is' if known == 1 else 'keys are'} trusted for this publisher already."]
    return lines


def _report(options: argparse.Namespace, authority: str, public: PublicKey, done: str) -> None:
    if options.json:
        state = "removed" if options.remove else "trusted"
        print_json({"publisher": authority, "fingerprint": public.fingerprint, "state": state})
    else:
        print_lines(inline(done), f"  {public.fingerprint}")


def _recorded() -> TrustedPublishers:
    with local_reader(gate_ledger(), indexed=True) as reader:
        return TrustedPublishers.of(reader) if reader else TrustedPublishers()


def described(keyring: PublisherKeyring, recorded: TrustedPublishers) -> list[dict[str, Json]]:
    """Every key that is trusted or was recorded as trusted, as JSON."""
    keys = {(authority, key_text(raw)) for authority, raws in keyring.publishers.items() for raw in raws}
    rows: list[dict[str, Json]] = []
    for authority, text in sorted({*keys, *recorded}):
        record = recorded.get((authority, text))
        present = (authority, text) in keys
        rows.append(
            {
                "publisher": authority,
                "fingerprint": _fingerprint(text),
                "key": text,
                "state": "missing" if not present else "trusted" if record else "unsigned",
                "trusted_at": record.time if record else "",
                "trusted_by": record.signed_by if record else "",
            }
        )
    return rows


def _fingerprint(text: str) -> str:
    try:
        return read_publisher_key(text).fingerprint
    except KeyFault as error:
        return str(error)


def _list(*, as_json: bool) -> None:
    recorded = _recorded()
    rows = described(load_keyring(paths().keyring), recorded)
    if as_json:
        print_json({"publishers": [*rows], "invalid": [*recorded.invalid]})
        return
    if not rows:
        print_lines("no publisher is trusted yet", "  Trust one with `aileron-tui trust github://owner publisher.pub`.")
    for row in rows:
        print_lines(inline(str(row["publisher"])), f"  {row['fingerprint']}", f"  {_state_words(row)}")
    for line in recorded.invalid:
        sys.stderr.write(f"warning: ignored {inline(line)}\n")


def _state_words(row: dict[str, Json]) -> str:
    publisher = inline(str(row["publisher"]))
    match row["state"]:
        case "trusted":
            when = str(row["trusted_at"])[:16].replace("T", " ")
            return f"trusted {when} UTC by the key {inline(str(row['trusted_by']))}"
        case "unsigned":
            command = f"aileron-tui trust {quote(publisher)} {row['key']}"
            return f"! In the keyring, but nobody signed for it here. If you trust it, run `{command}`."
        case _:
            return "! Trusted once, but no longer in the keyring: somebody removed it there."
