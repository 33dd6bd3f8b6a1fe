"""Security keys at the terminal: adding, listing and removing them, and touching one to approve at high risk."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fido2.hid import CtapHidDevice

from aileron_tui.cli import confirmation
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK
from aileron_tui.core.decision import Verdict
from aileron_tui.files.paths import paths
from aileron_tui.page.base64url import from_base64url
from aileron_tui.runtime.errors import NotAllowed
from aileron_tui.runtime.gate_client import ApproverClient
from aileron_tui.runtime.gate_discovery import discover
from aileron_tui.signing import key_store
from aileron_tui.surface.key_enrolment import read_approvers
from tests.cli.test_gate_commands import Home, gate
from tests.cli.test_rules import PASSPHRASE, Terminal, at, terminal
from tests.compiled import shared_cache
from tests.packages.made_packages import made_release
from tests.page.served_page import Tab
from tests.software_authenticator import SoftwareAuthenticator, Touch

__all__ = ["terminal"]

ADD = ("key", "security-key", "add", "--name", "blue")
LIST = ("key", "security-key", "list")
INTERRUPTED = 130

Plug = Callable[..., None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Plug:
    """Plugs these security keys in, and no others."""

    def plugged_in(*devices: SoftwareAuthenticator) -> None:
        monkeypatch.setattr(CtapHidDevice, "list_devices", lambda: iter(devices))

    monkeypatch.setattr("aileron_tui.cli.commands.key.protect_process", lambda: None)
    plugged_in()
    return plugged_in


def pin_from(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aileron_tui.cli.security_key_prompt.ask_passphrase", terminal.passphrase)


def test_a_key_is_added_listed_and_removed(terminal: Terminal, plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    device = SoftwareAuthenticator(pin="4711")
    plug(device)
    pin_from(terminal, monkeypatch)
    assert terminal.run(*LIST) == OK
    assert "no security keys yet" in terminal.out
    assert terminal.run(*ADD, answers=(PASSPHRASE, "0000", "4711")) == OK
    assert terminal.asked[1:] == ["PIN of the security key", "Wrong PIN, 7 tries left. PIN of the security key"]
    assert "Touch the security key that you want to add." in terminal.err
    assert "blue may approve on this gate" in terminal.out
    assert "cannot be copied to other devices" in terminal.out
    assert terminal.run(*LIST, "--json") == OK
    (listed,) = terminal.json["security_keys"]
    assert (listed["name"], listed["added_on"], listed["backup_eligible"]) == ("blue", "usb", False)
    assert listed["fingerprint"].startswith("WEBAUTHN:")
    assert terminal.run("key", "list") == OK
    assert "security key, cannot be copied to other devices · may approve on this gate" in terminal.out
    assert terminal.run("history", "verify") == OK
    assert terminal.run("key", "security-key", "remove", "blue", answers=(PASSPHRASE,)) == OK
    assert "blue may no longer approve on this gate" in terminal.out
    assert terminal.run("history", "verify") == OK
    assert read_approvers(paths().data).security_keys == ()
    assert terminal.run("key", "security-key", "remove", "blue") == NOT_FOUND


def test_removing_the_last_one_warns_if_high_risk_needs_one(terminal: Terminal, plug: Plug) -> None:
    plug(SoftwareAuthenticator())
    (terminal.home / "config.toml").write_text('[policy]\nhigh_risk = "key"\n')
    assert terminal.run(*ADD, answers=(PASSPHRASE,)) == OK
    assert terminal.run("key", "security-key", "remove", "blue", answers=(PASSPHRASE,)) == OK
    assert "nothing at high risk can be approved until you add one" in terminal.err


def test_what_cannot_be_added_or_removed_is_said(terminal: Terminal, plug: Plug) -> None:
    assert terminal.run(*ADD, answers=(PASSPHRASE,)) == FAILED
    assert "no security key is plugged in" in terminal.err
    device = SoftwareAuthenticator()
    plug(device)
    assert terminal.run(*ADD, answers=("wrong horse",)) == FAILED
    assert terminal.run("key", "security-key", "add", "--name", "default") == FAILED
    assert "another key named default is already enrolled" in terminal.err
    assert device.credentials == []
    assert terminal.run(*ADD, answers=(PASSPHRASE,)) == OK
    assert terminal.run("key", "security-key", "add", "--name", "green", answers=(PASSPHRASE,)) == FAILED
    assert "this security key is already enrolled here" in terminal.err
    assert terminal.run("key", "security-key", "remove", "default") == FAILED
    assert "default is not a security key" in terminal.err
    assert [one.name for one in read_approvers(paths().data).active] == ["blue", "default"]


def test_nothing_is_changed_without_a_terminal(terminal: Terminal, plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    plug(SoftwareAuthenticator())
    monkeypatch.setattr(confirmation, "_has_terminal", lambda: False)
    for words in (ADD, ("key", "security-key", "remove", "default")):
        assert terminal.run(*words) == FAILED
        assert "needs a terminal" in terminal.err


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    policy, compiled = 'high_risk = "key"', shared_cache(tmp_path_factory)
    with gate(tmp_path_factory.mktemp("touch") / "home", PASSPHRASE, compiled=compiled, policy=policy) as home:
        yield home


def waiting(terminal: Terminal, draft: str) -> str:
    terminal.run("run", "send-draft", "--arg", f"draft_id={draft}")
    return str(terminal.json["approval_id"])


def test_high_risk_is_approved_by_a_touch_and_by_nothing_else(
    served: Home, plug: Plug, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = at(served.folder, monkeypatch, capsys)
    id_ = waiting(terminal, "r-12345")
    assert terminal.run("approve", id_, answers=(PASSPHRASE,)) == FAILED
    assert "no security key is enrolled here" in terminal.err
    device = SoftwareAuthenticator()
    plug(device)
    assert terminal.run(*ADD, answers=(PASSPHRASE,)) == OK
    stranger = SoftwareAuthenticator()
    for plugged, says in (((), "no security key is plugged in"), ((stranger,), "this security key is not enrolled")):
        plug(*plugged)
        assert terminal.run("approve", id_, answers=(PASSPHRASE,)) == FAILED
        assert says in terminal.err
    plug(device)
    for touch, says in ((Touch.UNPLUGGED, "the security key was unplugged"), (Touch.REFUSED, "refused")):
        device.touch = touch
        assert terminal.run("approve", id_, answers=(PASSPHRASE,)) == FAILED
        assert says in terminal.err
        device.plugged_in = True
    secret = bytearray(PASSPHRASE.encode())
    with (
        key_store.unlock(served.folder / "keys", "default", secret) as key,
        ApproverClient(discover(), key) as client,
        pytest.raises(NotAllowed) as refused,
    ):
        client.decide(client.item(id_), Verdict.APPROVE)
    assert refused.value.code == "needs_security_key"
    assert not served.service.sent
    device.touch = Touch.TOUCHED
    assert terminal.run("approve", id_, answers=(PASSPHRASE,)) == OK, terminal.err
    assert "High risk. To approve send-draft, use your security key." in terminal.err
    assert terminal.err.rstrip().endswith("Touch your security key now.")
    assert len(served.service.sent) == 1
    assert terminal.run("history", "show", id_) == OK
    assert "blue" in terminal.out
    assert terminal.run("history", "verify") == OK


def test_ctrl_c_at_the_touch_decides_nothing_and_a_copied_key_is_refused(
    served: Home, plug: Plug, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = at(served.folder, monkeypatch, capsys)

    class Interrupted(SoftwareAuthenticator):
        """The person presses ctrl+c while it blinks."""

        def _wait_for_touch(self, *_: object) -> None:
            raise KeyboardInterrupt

    device = SoftwareAuthenticator()
    plug(device)
    assert terminal.run(*ADD[:-1], "green", answers=(PASSPHRASE,)) == OK
    id_, copy = waiting(terminal, "r-18220"), device.clone()
    plug(Interrupted(credentials=device.credentials))
    assert terminal.run("approve", id_, answers=(PASSPHRASE,)) == INTERRUPTED
    sent = len(served.service.sent)
    plug(device)
    rule = ("rules", "add", "allow", "--from", id_, "--for", "1h")
    assert terminal.run(*rule, answers=(PASSPHRASE,)) == OK, terminal.err
    plug(copy)
    assert terminal.run("approve", id_, answers=(PASSPHRASE,)) == FAILED
    assert "copied" in terminal.err
    assert len(served.service.sent) == sent
    assert terminal.run("deny", id_, answers=(PASSPHRASE,)) == OK  # a denial needs no touch
    assert terminal.run("rules", "list") == OK
    assert "send-draft" in terminal.out
    assert terminal.run("history", "verify") == OK


def test_a_rule_by_names_is_signed_by_a_touch(terminal: Terminal, plug: Plug) -> None:
    device = SoftwareAuthenticator()
    plug(device)
    (terminal.home / "config.toml").write_text('[policy]\nhigh_risk = "key"\n')
    assert terminal.run(*ADD, answers=(PASSPHRASE,)) == OK
    words = ("rules", "add", "allow", "--agent", "laptop", "--tool", "Bash", "--folder", str(terminal.home))
    assert terminal.run(*words, "--command", "make test", "--for", "1h", answers=(PASSPHRASE,)) == OK, terminal.err
    assert device.blinked == 2
    (known,) = terminal.rules().values()
    assert known.signer.startswith("WEBAUTHN:")
    assert terminal.run("history", "verify") == OK


def test_packages_are_approved_and_removed_by_a_touch(
    terminal: Terminal, plug: Plug, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    device = SoftwareAuthenticator()
    plug(device)
    source = made_release().write_bundle(tmp_path / "source")
    (terminal.home / "config.toml").write_text('[policy]\nhigh_risk = "key"\n')
    assert terminal.run(*ADD, answers=(PASSPHRASE,)) == OK
    monkeypatch.setattr("aileron_tui.cli.consent_question.check_terminal", lambda: None)
    monkeypatch.setattr("aileron_tui.cli.consent_question.consented", lambda *_: True)
    for command in ("add", "remove"):
        monkeypatch.setattr(f"aileron_tui.cli.commands.{command}.protect_process", lambda: None)
    assert terminal.run("add", str(source)) == OK, terminal.err
    assert terminal.run("installed", "--json") == OK
    (package,) = terminal.json["packages"]
    assert package["approved_with"].startswith("WEBAUTHN:")
    monkeypatch.setattr("aileron_tui.cli.commands.remove.ask_line", terminal.line)
    assert terminal.run("remove", "mail", answers=("y",)) == OK, terminal.err
    assert device.blinked == 3
    assert terminal.run("history", "verify") == OK


class Browser:
    """Registers a passkey on the page, as a person would who is asked to."""

    def __init__(self, passkey: SoftwareAuthenticator) -> None:
        self.passkey = passkey
        self.said: list[str] = []

    def open(self, url: str, wait: Callable[[float], object]) -> bool:
        asyncio.run(self._register(url))
        wait(30)
        return True

    async def _register(self, url: str) -> None:
        address = urlsplit(url)
        assert address.port
        tab = Tab(address.port)
        await tab.open(address.fragment.partition("=")[2])
        asked = await tab.post("/page/enrolment/options")
        challenge = from_base64url(asked.json()["publicKey"]["challenge"])
        made = self.passkey.registration(challenge, origin=tab.origin)
        self.said.append((await tab.post("/page/enrolment", made.json())).json()["message"])


def test_a_passkey_of_somebody_who_took_the_code_is_not_added_even_if_it_is_confirmed(
    served: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal, thief = at(served.folder, monkeypatch, capsys), Browser(SoftwareAuthenticator())
    before = read_approvers(paths().data).security_keys
    opened: list[str] = []

    def taken(url: str, wait: Callable[[float], object]) -> bool:
        opened.append(url)
        return thief.open(url, wait)

    def confirmed(question: str) -> str:
        """The operator's own browser is slower, and opens the page only now."""
        address = urlsplit(opened[0])
        reply = asyncio.run(Tab(address.port or 0).open(address.fragment.partition("=")[2]))
        assert reply.code == "used_code"
        return terminal.line(question)

    monkeypatch.setattr("aileron_tui.cli.security_keys.has_browser", lambda: True)
    monkeypatch.setattr("aileron_tui.cli.security_keys.open_in_browser", taken)
    monkeypatch.setattr("aileron_tui.cli.security_keys.ask_line", confirmed)
    assert terminal.run(*ADD[:-1], "stolen", "--page", answers=(PASSPHRASE, "y")) != OK
    assert "its code was used twice" in terminal.err
    assert read_approvers(paths().data).security_keys == before


def test_a_passkey_is_added_through_the_page_once_it_is_confirmed(
    served: Home, plug: Plug, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal, browser = at(served.folder, monkeypatch, capsys), Browser(SoftwareAuthenticator(backup_eligible=True))
    monkeypatch.setattr("aileron_tui.cli.security_keys.has_browser", lambda: True)
    monkeypatch.setattr("aileron_tui.cli.security_keys.open_in_browser", browser.open)
    monkeypatch.setattr("aileron_tui.cli.security_keys.ask_line", terminal.line)
    words = ("key", "security-key", "add", "--name", "laptop", "--page")
    assert terminal.run(*words, answers=(PASSPHRASE, "n")) == FAILED
    assert "nothing was added" in terminal.err
    assert terminal.run(*words, answers=(PASSPHRASE, "y")) == OK, terminal.err
    assert browser.said == ["Registered. Go back to the terminal to confirm it."] * 2
    assert "may be copied to other devices of its owner" in terminal.out
    assert "#" not in terminal.err  # the code is not printed
    assert terminal.run(*LIST) == OK
    assert "added in the browser" in terminal.out
    assert terminal.run("history", "verify") == OK
    id_ = waiting(terminal, "r-31007")
    plug(SoftwareAuthenticator(credentials=browser.passkey.credentials[-1:]))  # a key that was enrolled in the browser
    assert terminal.run("approve", id_, answers=(PASSPHRASE,)) == OK, terminal.err
