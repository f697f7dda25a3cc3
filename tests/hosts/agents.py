"""The coding agents that are tried: how each is told to use a model on this machine, and what is expected of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tests.hosts import programs
from tests.hosts.home import Home, Ran

FACT: Final = "Releases happen on Tuesdays because support is fully staffed then"
QUESTION: Final = "When do we release?"
ANSWER: Final = "On Tuesdays."


class Agent(msgspec.Struct, frozen=True):
    """One program. `arguments` and `environ` may name {model} and {prompt}; `events` are the hooks of a session with
    one prompt and two calls of tools, in their order; `opening` is the first word of its MCP client, `tools` how our
    tools' names begin."""

    name: str
    program: str
    arguments: tuple[str, ...]
    events: tuple[str, ...]
    opening: str
    tools: str
    environ: Mapping[str, str] = {}
    settings: Mapping[str, Any] = {}
    """Files of the home that its user has had before, as JSON by path."""

    @property
    def version(self) -> str:
        """The one that `make hosts` installs."""
        return next(name for name in programs.NODE_PACKAGES if self.program in name).rpartition("@")[2]

    def prepared(self, home: Home) -> None:
        """Its settings, then ours, by `mnemonctl setup`. Skips where it is not installed."""
        programs.program(self.program)
        for name, document in self.settings.items():
            path = home.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
        home.setup(self.name)

    def converse(self, home: Home, prompt: str, steps: list[dict[str, Any]]) -> Ran:
        """A session of one prompt, not interactive."""
        arguments = [part.replace("{prompt}", prompt) for part in self.arguments]
        return home.run([str(programs.program(self.program)), *arguments], steps, **self.environ)

    def use(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A step in which the model calls a tool of ours."""
        return {"use": f"{self.tools}{tool}", "with": arguments}


CLAUDE_CODE: Final = Agent(
    "claude-code",
    "claude",
    ("-p", "{prompt}", "--output-format", "stream-json", "--verbose", "--include-hook-events", "--allowedTools",
     "mcp__plugin_mnemond_mnemond"),
    ("SessionStart", "UserPromptSubmit", "PreToolUse", "PreToolUse", "Stop", "SessionEnd"),
    "server/discover",
    "mcp__plugin_mnemond_mnemond__",
    {"ANTHROPIC_BASE_URL": "{model}", "ANTHROPIC_API_KEY": "sk-test", "DISABLE_AUTOUPDATER": "1",
     "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
)  # fmt: skip

CODEX: Final = Agent(
    "codex",
    "codex",
    ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-c", 'model="fake"',
     "-c", 'model_provider="fake"', "-c",
     'model_providers.fake={name="fake",base_url="{model}/v1",wire_api="responses"}', "{prompt}"),
    ("SessionStart", "UserPromptSubmit", "PreToolUse", "PreToolUse", "Stop", "SessionEnd"),
    "initialize",
    "mcp__mnemond.",
)  # fmt: skip
"""Its hooks run only once their user has approved them; the option says so for this run."""

GEMINI: Final = Agent(
    "gemini",
    "gemini",
    ("-p", "{prompt}", "--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
    ("SessionStart", "BeforeAgent", "BeforeTool", "BeforeTool", "AfterAgent", "SessionEnd"),
    "initialize",
    "mcp_mnemond_",
    {"GEMINI_API_KEY": "test", "GEMINI_MODEL": "gemini-2.5-flash", "GOOGLE_GEMINI_BASE_URL": "{model}",
     "GEMINI_CLI_NO_RELAUNCH": "1"},
    {".gemini/settings.json": {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
    }},
)  # fmt: skip

AGENTS: Final = (CLAUDE_CODE, CODEX, GEMINI)
