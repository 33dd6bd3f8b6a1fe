"""The risk of programs whose first word says what they do: git, gh, docker, kubectl and package managers."""

from collections.abc import Sequence
from typing import Final

from aileron_tui.core.risk import Risk, RiskLevel
from aileron_tui.core.shell_programs import has_option
from aileron_tui.core.shell_words import ShellWord
from aileron_tui.core.values import dataclass

_HIGH, _NORMAL, _LOW = RiskLevel.HIGH, RiskLevel.NORMAL, RiskLevel.LOW
_READS: Final = "only reads"


@dataclass(frozen=True, slots=True)
class Subcommands:
    """The subcommands of a program by risk. One that is in neither list is of the level `other`.

    A subcommand may have two words, such as `pr view`. `letters` and `options` make any subcommand high. `valued` are
    options before the subcommand that are followed by a value.
    """

    low: frozenset[str] = frozenset()
    normal: frozenset[str] = frozenset()
    high: frozenset[str] = frozenset()
    other: RiskLevel = _NORMAL
    reason: str = "effect unknown"
    high_reason: str = "may send or publish"
    letters: str = ""
    options: tuple[str, ...] = ()
    valued: frozenset[str] = frozenset()

    def risk(self, words: Sequence[ShellWord]) -> Risk:
        """The risk of the program with these words after its name."""
        rest = list(words)
        while rest and rest[0].is_known and rest[0].text.startswith("-"):
            if rest[0].text in ("--version", "--help", "-V", "-v", "-h") and len(rest) == 1:
                return Risk(_LOW, _READS)
            del rest[: 2 if rest[0].text in self.valued else 1]
        if not rest:
            return Risk(_NORMAL if self.other is _LOW else self.other, self.reason)
        if any(not word.is_known and word.may_be_option for word in rest[:2]):
            return Risk(_HIGH, "words not known yet")
        names = (" ".join(word.text for word in rest[:2]), rest[0].text)
        if any(name in self.high for name in names):
            return Risk(_HIGH, self.high_reason)
        if any(has_option(word.text, self.letters, self.options) for word in words):
            return Risk(_HIGH, self.high_reason)
        for names_of_level, level in ((self.low, _LOW), (self.normal, _NORMAL)):
            if any(name in names_of_level for name in names):
                return Risk(level, _READS if level is _LOW else self.reason)
        return Risk(self.other, self.high_reason if self.other is _HIGH else self.reason)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.replace("\n", ",").split(",") if name.strip())


_PACKAGES: Final = "installs or runs packages"
_NODE: Final = Subcommands(
    high=_names(
        "publish, unpublish, deprecate, dist-tag, owner, access, token, login, logout, adduser, team, hook, org, star, "
        "profile, config, set, explore, edit, cache clean, npm, prune, pkg"
    ),
    reason=_PACKAGES,
    valued=frozenset({"--prefix", "-C", "--filter", "--cwd", "--dir", "-w", "--workspace"}),
)

SUBCOMMANDS: Final = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _NODE),
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        Subcommands(
            low=_names("ps, images, logs, inspect, version, info, top, stats, port, history, diff"),
            normal=_names("build, compose ps, compose logs, compose config"),
            other=_HIGH,
            high_reason="controls containers",
            reason="builds an image",
            letters="H",
            options=("--host", "--config", "--context"),
        ),
    ),
    **dict.fromkeys(
        ("kubectl", "oc", "k9s"),
        Subcommands(
            normal=_names("get, describe, logs, version, cluster-info, api-resources, explain, top, config view"),
            other=_HIGH,
            high_reason="changes a cluster",
            reason="reads from a cluster",
        ),
    ),
    "gh": Subcommands(
        normal=_names(
            "pr view, pr list, pr diff, pr status, pr checks, issue view, issue list, issue status, run list, "
            "run view, repo view, repo list, release list, release view, workflow list, workflow view, "
            "auth status, search, status"
        ),
        other=_HIGH,
        reason="reads from GitHub",
    ),
    "glab": Subcommands(
        normal=_names("mr view, mr list, mr diff, issue view, issue list, ci list, ci view, repo view, auth status"),
        other=_HIGH,
        reason="reads from GitLab",
    ),
    "cargo": Subcommands(
        high=_names("publish, yank, owner, login, logout, install, uninstall"),
        reason="builds or tests",
        options=("--config",),
    ),
    **dict.fromkeys(
        ("pip", "pip3", "pipx"),
        Subcommands(
            low=_names("list, show, freeze, check, help"),
            high=_names("config, run"),
            reason=_PACKAGES,
            letters="oi",
            options=(
                *("--log", "--log-file", "--local-log", "--python", "--outdated", "--uptodate", "--index-url"),
                *("--extra-index-url", "--find-links", "--proxy", "--cert", "--client-cert", "--cache-dir"),
                *("--debug", "--keyring-provider", "--trusted-host"),
            ),
        ),
    ),
    **dict.fromkeys(
        ("poetry", "uv", "hatch", "flit", "pdm"),
        Subcommands(
            high=_names("publish, config, self, source, upload, auth"),
            reason=_PACKAGES,
        ),
    ),
    "gem": Subcommands(high=_names("push, yank, owner, signin, exec"), reason=_PACKAGES),
    "go": Subcommands(
        low=_names("version, help"),
        high=_names("generate, tool, env"),
        reason="builds or tests",
        high_reason="runs other programs",
        options=("-exec", "-toolexec", "-vettool", "--exec", "--toolexec", "--vettool", "-overlay", "-modfile", "-o"),
    ),
    **dict.fromkeys(
        ("mvn", "gradle", "gradlew", "mvnw", "sbt"),
        Subcommands(
            high=_names("deploy, publish, release:perform, publishToMavenLocal, uploadArchives"),
            reason="builds or tests",
        ),
    ),
    "dotnet": Subcommands(high=_names("nuget push, nuget delete, publish, user-secrets"), reason="builds or tests"),
    "composer": Subcommands(high=_names("config, global, exec"), reason=_PACKAGES),
    **dict.fromkeys(
        ("hg", "svn", "jj", "fossil", "bzr"),
        Subcommands(
            high=_names("push, commit, ci, git push, purge, revert, strip, email, serve, delete, remove, rm, import"),
            reason="works in a repository",
            options=(
                *("--config", "--config-option", "--config-toml", "--config-file", "--config-dir", "--extcmd"),
                *("--diff-cmd", "--diff3-cmd", "--editor-cmd", "--tool", "--output", "--pager"),
            ),
        ),
    ),
    "openssl": Subcommands(high=_names("s_client, s_server"), reason="effect unknown"),
}
