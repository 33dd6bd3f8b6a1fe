"""What programs do when a shell command runs them, by name and options: the table behind the risk of a command.

A program that is not listed is of normal risk. One that only reads is of low risk as long as it has no option that
makes it write, send or run something. Options are compared as GNU programs read them: long ones may be shortened, and
short ones may be joined.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from aileron_tui.core.risk import RiskLevel
from aileron_tui.core.shell_words import ShellWord
from aileron_tui.core.values import dataclass

_REMOVES: Final = "may remove files"
_DISK: Final = "may destroy data"
_RUNS: Final = "runs other programs"
_CODE: Final = "runs inline code"
_SENDS: Final = "may send data"
_REMOTE: Final = "reaches another machine"
_SYSTEM: Final = "changes the system"
_STOPS: Final = "stops or starts programs"
_ROOT: Final = "runs as another user"
_ACCESS: Final = "changes access to files"
_PUBLISHES: Final = "may send or publish"
_DATA: Final = "may change data"
_CONTROLS: Final = "controls another terminal"
_SHELL: Final = "changes later commands"
_OPTION: Final = "an option writes or runs"


@dataclass(frozen=True, slots=True)
class ProgramRisk:
    """The risk of one program: a level, a reason, and the options that make it high.

    `letters` are options of one letter, `options` long ones. `most_files` is how many names it reads; with more, the
    last one is written to. A pattern may stand for several names.
    """

    level: RiskLevel
    reason: str
    letters: str = ""
    options: tuple[str, ...] = ()
    most_files: int = -1

    def high_option(self, words: Sequence[ShellWord]) -> bool:
        """Whether one of these words is, or may become, an option that makes the risk high."""
        if not self.letters and not self.options and self.most_files < 0:
            return False
        files = sum(1 + word.has_pattern for word in words if not word.text.startswith("-") or word.text == "-")
        if 0 <= self.most_files < files:
            return True
        return any(self._is_high(word) for word in words)

    def _is_high(self, word: ShellWord) -> bool:
        if not word.is_known and word.may_be_option:
            return True
        return has_option(word.text, self.letters, self.options)


def has_option(text: str, letters: str = "", options: Iterable[str] = ()) -> bool:
    """Whether a word is one of these options, perhaps shortened, joined with others or with a value."""
    if text.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 2 and any(option.startswith(name) for option in options if option.startswith("--"))
    if not text.startswith("-"):
        return False
    if any(text.partition("=")[0] == option for option in options if not option.startswith("--")):
        return True
    return any(letter in letters for letter in text[1:])


def _table(level: RiskLevel, reason: str, names: str) -> dict[str, ProgramRisk]:
    return dict.fromkeys(names.split(), ProgramRisk(level, reason))


def _reads(letters: str = "", *options: str, most_files: int = -1) -> ProgramRisk:
    return ProgramRisk(RiskLevel.LOW, "only reads", letters, options, most_files)


_HIGH, _NORMAL, _LOW = RiskLevel.HIGH, RiskLevel.NORMAL, RiskLevel.LOW

PROGRAMS: Final = {
    **_table(_HIGH, _REMOVES, "rm rmdir unlink shred truncate srm trash trash-put rimraf del erase"),
    **_table(
        _HIGH,
        _DISK,
        """dd mkfs mke2fs mkswap fdisk sfdisk gdisk sgdisk parted wipefs blkdiscard hdparm cryptsetup losetup lvremove
        vgremove pvremove zpool zfs btrfs mdadm diskutil""",
    ),
    **_table(_HIGH, _ROOT, "sudo sudoedit doas su runuser pkexec setpriv run0 gosu"),
    **_table(
        _HIGH,
        _RUNS,
        """xargs parallel eval exec watch entr script expect gdb lldb strace ltrace perf valgrind chroot unshare nsenter
        bwrap firejail flock setsid start-stop-daemon busybox toybox proxychains proxychains4 torsocks unbuffer rlwrap
        faketime fakeroot numactl taskset chrt cgexec prlimit setarch linux32 linux64 ssh-agent dbus-run-session
        xvfb-run pipexec ld.so hyperfine direnv vim vi nvim view ex ed emacs emacsclient nano pico micro less more most
        pwsh powershell cmd osascript automator open xdg-open""",
    ),
    **_table(
        _HIGH, _REMOTE, "ssh scp sftp rsync rclone nc ncat netcat socat telnet ftp lftp tftp mosh autossh rsh rcp"
    ),
    **_table(_HIGH, _SENDS, "mail mailx sendmail mutt msmtp swaks http https xh httpie aria2c"),
    **_table(
        _HIGH,
        _SYSTEM,
        """mount umount iptables ip6tables nft ufw firewall-cmd sysctl modprobe insmod rmmod useradd userdel usermod
        groupadd groupdel passwd chpasswd visudo chsh update-alternatives ldconfig apt apt-get aptitude dpkg dnf yum
        rpm zypper pacman apk snap flatpak brew port hostnamectl timedatectl localectl nmcli ip ifconfig route defaults
        csrutil spctl nvram setenforce auditctl swapon swapoff grub-install efibootmgr""",
    ),
    **_table(
        _HIGH,
        _STOPS,
        """kill pkill killall skill xkill reboot shutdown halt poweroff init telinit systemctl service launchctl
        rc-service supervisorctl pm2 crontab at batch atrm systemd-run loginctl""",
    ),
    **_table(_HIGH, _CONTROLS, "tmux screen zellij xdotool ydotool wtype xclip xsel pbcopy wl-copy wall write"),
    **_table(_HIGH, _ACCESS, "chown chgrp chattr setfacl setfattr setcap icacls"),
    **_table(
        _HIGH,
        _PUBLISHES,
        "twine ansible ansible-playbook terraform tofu pulumi helm skaffold serverless sls vercel netlify fly flyctl"
        " heroku wrangler firebase cdk sam eb ngrok cloudflared",
    ),
    **_table(
        _HIGH,
        _DATA,
        """psql mysql mariadb sqlite3 sqlite mongo mongosh redis-cli cqlsh clickhouse-client sqlcmd aws gcloud gsutil az
        doctl s3cmd mc vault consul etcdctl nomad dropdb createdb pg_restore mysqladmin influx duckdb""",
    ),
    **_table(
        _HIGH, _SHELL, "alias unalias trap enable bind complete compopt fc let hash mapfile readarray coproc shopt"
    ),
    **_table(_HIGH, "controls the gate", "aileron aileron-tui"),
    **_table(_HIGH, "runs an agent", "claude codex gemini copilot opencode qwen goose aider cursor-agent amp"),
    **_table(
        _LOW,
        "only reads",
        """ls dir vdir cat head tail wc grep egrep fgrep stat du df pwd echo whoami id groups users uname arch nproc
        free uptime basename dirname realpath readlink cut tr nl tac rev cmp comm md5sum sha1sum sha224sum sha256sum
        sha384sum sha512sum b2sum cksum sum shasum ps true false : sleep seq jq fold paste join expand unexpand
        strings od hexdump lsblk lscpu tty logname locale which whereis type readelf
        pgrep pidof column numfmt factor expr tsort look cal getconf zcat bzcat xzcat""",
    ),
    "sort": _reads("oT", "--output", "--compress-program", "--temporary-directory", "--files0-from"),
    "uniq": _reads(most_files=1),
    "xxd": _reads("r", most_files=1),
    "tree": _reads("oR", "--output"),
    "file": _reads("Cm", "--compile", "--magic-file"),
    "date": _reads("sf", "--set", "--file"),
    "hostname": _reads("Fb", "--file", most_files=0),
    "diff": _reads("", "--output"),
    "rg": _reads("", "--pre", "--pre-glob", "--hostname-bin", "--search-zip"),
    "ag": _reads("", "--pager"),
    "ack": _reads("", "--pager", "--output", "--ackrc"),
    "fd": _reads("xX", "--exec", "--exec-batch"),
    "fdfind": _reads("xX", "--exec", "--exec-batch"),
    "yq": _reads("is", "--inplace", "--in-place", "--split-exp", "--security-enable-system-operator"),
    "bat": _reads("", "--pager", "--config-file", "--build", "--clear", "--target", "--source", "--lessopen"),
    "find": _reads(
        "", "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"
    ),
    "test": _reads("vR"),
    "lsof": _reads("D"),
    "printenv": ProgramRisk(_NORMAL, "shows variables"),
    "printf": _reads("v"),
    "tee": ProgramRisk(_LOW, "only reads", most_files=0),
    "chmod": ProgramRisk(_NORMAL, _ACCESS, "R", ("--recursive",)),
    "tar": ProgramRisk(
        _NORMAL,
        "packs or unpacks files",
        "IFPC",
        (
            *("--checkpoint-action", "--use-compress-program", "--to-command", "--info-script", "--new-volume-script"),
            *("--rsh-command", "--rmt-command", "--absolute-names", "--remove-files", "--unlink-first"),
            *("--recursive-unlink", "--overwrite"),
        ),
    ),
    "zip": ProgramRisk(_NORMAL, "packs files", "Tm", ("--move", "--test", "--unzip-command", "-TT")),
    "unzip": ProgramRisk(_NORMAL, "unpacks files", "o:"),
    "curl": ProgramRisk(
        _NORMAL,
        "may leak data by URL",
        "dFTXKQoOJtEbcuUxHAewDn",
        (
            *("--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--form", "--form-string"),
            *("--upload-file", "--request", "--config", "--quote", "--output", "--output-dir", "--remote-name"),
            *("--remote-name-all", "--remote-header-name", "--json", "--url-query", "--cookie", "--cookie-jar"),
            *("--user", "--header", "--proxy", "--netrc", "--netrc-file", "--cert", "--key", "--libcurl", "--trace"),
            *("--trace-ascii", "--dump-header", "--stderr", "--mail-from", "--telnet-option", "--engine", "--hsts"),
            *("--alt-svc", "--etag-save", "--create-dirs", "--unix-socket", "--abstract-unix-socket", "--variable"),
            *(
                "--expand-data",
                "--expand-url",
                "--next",
                "--resolve",
                "--connect-to",
                "--preproxy",
                "--interface",
                "--write-out",
            ),
        ),
    ),
    "wget": ProgramRisk(
        _NORMAL,
        "fetches into a file",
        "eioaOPBrmU",
        (
            *("--execute", "--post-data", "--post-file", "--body-data", "--body-file", "--method", "--header"),
            *("--use-askpass", "--input-file", "--output-file", "--output-document", "--append-output", "--config"),
            *("--directory-prefix", "--recursive", "--mirror", "--save-cookies", "--load-cookies", "--user-agent"),
            *("--password", "--user", "--warc-file", "--rejected-log"),
        ),
    ),
    "source": ProgramRisk(_NORMAL, "runs a script here"),
    ".": ProgramRisk(_NORMAL, "runs a script here"),
    "cd": _reads(),
    "pushd": _reads(),
    "popd": _reads(),
    "export": ProgramRisk(_NORMAL, "sets variables"),
    "readonly": ProgramRisk(_NORMAL, "sets variables"),
    "local": ProgramRisk(_NORMAL, "sets variables"),
    "unset": ProgramRisk(_NORMAL, "sets variables"),
    "set": ProgramRisk(_NORMAL, "changes the shell", "k"),
    "cp": ProgramRisk(_NORMAL, "writes files"),
    "mv": ProgramRisk(_NORMAL, "moves or replaces files"),
    "ln": ProgramRisk(_NORMAL, "makes links"),
    "mkdir": ProgramRisk(_NORMAL, "makes folders"),
    "touch": ProgramRisk(_NORMAL, "makes files"),
    "patch": ProgramRisk(_NORMAL, "edits files", "eor", ("--ed", "--output", "--reject-file")),
}
"""Programs by name. Those in `core/shell_risk.py` that need more than a table come first."""
