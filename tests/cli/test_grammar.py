"""From command lines to requests."""

from __future__ import annotations

from typing import get_args

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.api.registry import METHODS
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.api.types_memories import FilterParams
from mnemond.cli import parser
from mnemond.cli.grammar import Invocation, parse
from mnemond.cli.help import BY_NAME, COMMANDS
from mnemond.cli.output import SHORT_ID, text_width
from mnemond.cli.parser import GLOBAL_FLAGS, GLOBAL_VALUES, GLOBALS
from mnemond.errors import KINDS
from mnemond.model.memory import CATEGORIES, ENTITY_MODES, STATUSES
from mnemond.wire.params import MIN_PREFIX, IdOrPrefix
from tests.tables import each_row


def line(*argv: str, **facts: object) -> CliRunParams:
    return CliRunParams(argv=list(argv), tty=True, tty_err=True, **facts)  # type: ignore[arg-type]


def understood(*argv: str, **facts: object) -> Invocation:
    parsed = parse(line(*argv, **facts))
    assert isinstance(parsed, Invocation), parsed
    return parsed


def answered(*argv: str, **facts: object) -> CliRunResult:
    parsed = parse(line(*argv, **facts))
    assert isinstance(parsed, CliRunResult), parsed
    return parsed


def request(*argv: str, **facts: object) -> tuple[str | None, dict[str, object]]:
    invocation = understood(*argv, **facts)
    return invocation.method, invocation.params


def test_every_option_of_remember() -> None:
    assert request(
        "remember", "We", "chose", "SQLite", "--category", "decision", "--importance", "4", "--tag", "a,b",
        "--tags", "c, d,", "--entity", "SQLite", "--entities", "Redis,Team", "--entity-mode", "provided",
        "--source", "git",
        "--conversation-id", "c1", "--session", "s1", "--user", "u1", "--agent", "a1",
        "--created-at", "2026-02-17T09:00:00Z", "--no-diff", "--dry-run", "--channel", "hook",
        "--op-id", "o1", "--store", "work",
    ) == (
        "remember",
        {
            "content": "We chose SQLite", "category": "decision", "importance": 4, "tags": ["a,b", "c", "d"],
            "entities": ["SQLite", "Redis", "Team"], "entity_mode": "provided", "source": "git",
            "conversation_id": "c1", "session_id": "s1", "user_id": "u1", "agent_id": "a1",
            "created_at": "2026-02-17T09:00:00Z", "no_diff": True,
            "dry_run": True, "channel": "hook", "op_id": "o1", "store": "work",
        },
    )  # fmt: skip


def test_every_option_of_recall() -> None:
    assert request(
        "recall", "why", "SQLite", "--limit", "3", "--category", "fact", "--source", "git", "--all-sessions",
        "--now", "2026-02-17T09:00:00Z", "--no-touch", "--anchors", "keyword,vector", "--user", "u",
    ) == (
        "recall",
        {
            "query": "why SQLite", "limit": 3, "category": "fact", "source": "git", "all_sessions": True,
            "now": "2026-02-17T09:00:00Z", "touch": False, "anchors": ["keyword", "vector"], "user_id": "u",
        },
    )  # fmt: skip


@each_row(
    ("argv", "expected"),
    [
        (["list"], ("list", {})),
        (["list", "--limit", "5", "--before", "1a2b3c4d"], ("list", {"limit": 5, "before": "1a2b3c4d"})),
        (["get", "1a2b3c4d", "--store", "w"], ("get", {"id": "1a2b3c4d", "store": "w"})),
        (["forget", "1a2b3c4d", "--op-id", "o"], ("forget", {"id": "1a2b3c4d", "op_id": "o"})),
        (["status"], ("status", {})),
        (["store", "list"], ("store.list", {})),
        (["store", "create", "work"], ("store.create", {"name": "work"})),
        (["store", "--json", "create", "--store", "x", "work"], ("store.create", {"name": "work"})),
        (["--store", "w", "--json", "list"], ("list", {"store": "w"})),
        (["--store=w", "list"], ("list", {"store": "w"})),
        (["--data-dir", "daemon", "list"], ("list", {})),
        (["recall", "--", "--limit", "-x"], ("recall", {"query": "--limit -x"})),
        (["recall", "a", "--limit", "2", "b"], ("recall", {"query": "a b", "limit": 2})),
        (["recall", "-5", "degrees"], ("recall", {"query": "-5 degrees"})),
        (["remember", "- buy milk"], ("remember", {"content": "- buy milk"})),
        (
            ["remember", "--flags are text in one argument"],
            ("remember", {"content": "--flags are text in one argument"}),
        ),
        (["get", "1a2b3c4d", "--user", "ana"], ("get", {"id": "1a2b3c4d", "user_id": "ana"})),
        (["config", "show", "--user", "someone"], ("config.show", {})),
        (["today"], ("today", {})),
        (["today", "3f2a", "-n", "2"], ("today", {"id": "3f2a", "limit": 2})),
        (["useful", "1a2b3c4d", "--op-id", "o"], ("feedback", {"id": "1a2b3c4d", "verdict": "useful", "op_id": "o"})),
        (["misled", "1a2b3c4d"], ("feedback", {"id": "1a2b3c4d", "verdict": "misled"})),
        (["sync", "status", "--text", "--store", "w"], ("sync.status", {"store": "w"})),
        (["hook", "--dry-run", "session"], ("hook.preview", {"moment": "session", "text": ""})),
        (
            ["hook", "--dry-run", "prompt", "Which", "port?", "--cwd", "/home/ada/apollo"],
            ("hook.preview", {"moment": "prompt", "text": "Which port?", "directory": "/home/ada/apollo"}),
        ),
    ],
)
def test_requests(argv: list[str], expected: tuple[str, dict[str, object]]) -> None:
    assert request(*argv) == expected


@each_row(
    ("argv", "sentence"),
    [
        (["hook"], "hook needs --dry-run: agents call hooks by what `mnemonctl setup` installs"),
        (["hook", "--dry-run"], "hook --dry-run needs prompt or session, then the text"),
        (["hook", "--dry-run", "stop", "x"], "hook --dry-run needs prompt or session, then the text"),
        (["hook", "--dry-run", "prompt"], "hook --dry-run prompt needs the text of a prompt"),
        (["useful"], "useful needs the id of a memory"),
        (["misled", "1a"], "the id has 2 characters; it needs 6"),
    ],
)
def test_what_is_missing_is_named(argv: list[str], sentence: str) -> None:
    result = answered(*argv)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


@each_row("command", [["recall", "tea"], ["search", "tea"], ["list"]])
def test_every_filter_of_whatever_looks_for_memories(command: list[str]) -> None:
    method, params = request(
        *command, "--cat", "fact", "--source", "git", "--channel", "hook", "--tags", "a,b", "--tag", "c",
        "--any-tags", "d", "--entity", "k8s", "--stated-intent", "event", "--min-importance", "4",
        "--since", "2026-02-01", "--until", "2026-02-28", "--event-since", "2025-01-01", "--event-until", "2025-12-31",
        "--metadata", '{"a":{"in":[1,"x"]}}', "--status", "active", "--as-of", "2026-02-18T09:30:00Z",
        "--known-at", "2026-02-19", "--include-invalid",
        "--strict-scope", "--all-sessions", "--user", "u", "--session", "s", "--agent", "g",
        "--now", "2026-02-17T09:00:00Z", "--project", "acme",
    )  # fmt: skip
    assert method == command[0]
    filters = {
        "category": "fact", "source": "git", "channel": "hook", "tags": ["a", "b", "c"], "any_tags": ["d"],
        "entity": "k8s", "stated_intent": "event", "min_importance": 4, "since": "2026-02-01", "until": "2026-02-28",
        "event_since": "2025-01-01", "event_until": "2025-12-31", "metadata": {"a": {"in": [1, "x"]}},
        "status": "active", "as_of": "2026-02-18T09:30:00Z", "known_at": "2026-02-19", "include_invalid": True,
        "strict_scope": True, "all_sessions": True,
        "user_id": "u", "session_id": "s", "agent_id": "g", "now": "2026-02-17T09:00:00Z",
        "project": "acme",
    }  # fmt: skip
    assert {name: value for name, value in params.items() if name != "query"} == filters
    assert {field.name for field in msgspec.structs.fields(FilterParams)} == {"store", "directory", *filters}
    msgspec.convert(params, METHODS[method].params)


@each_row(
    ("typed", "metadata"),
    [
        (["project=apollo"], {"project": "apollo"}),
        (["a=1", "b=true", "c=null", "d=-0.5"], {"a": 1, "b": True, "c": None, "d": -0.5}),
        (['a=[1,"x"]'], {"a": [1, "x"]}),
        (["a=007", "b=1.10", "c=1e3", "d=", "e=x=y"], {"a": "007", "b": "1.10", "c": "1e3", "d": "", "e": "x=y"}),
        (['a="7"', " b = two words "], {"a": "7", "b": "two words"}),
        (['{"a": 1, "b": "x=y"}', "a=2"], {"a": 2, "b": "x=y"}),
    ],
)
def test_metadata_as_json_or_as_names_and_values(typed: list[str], metadata: dict[str, object]) -> None:
    options = [word for each in typed for word in ("--metadata", each)]
    assert request("remember", "tea", *options) == ("remember", {"content": "tea", "metadata": metadata})
    assert request("list", *options) == ("list", {"metadata": metadata})


@each_row(
    ("env", "argv", "store"),
    [("work", [], "work"), ("work", ["--store", "home"], "home"), ("", [], None), (None, [], None)],
)
def test_store_resolution(env: str | None, argv: list[str], store: str | None) -> None:
    _, params = request("recall", "x", *argv, env_store=env)
    assert params.get("store") == store


@each_row(
    ("argv", "message", "hint"),
    [
        (["rember", "x"], 'there is no command "rember"', "Did you mean: mnemonctl remember?"),
        (["store", "crate", "x"], 'store has no command "crate"', "Did you mean: mnemonctl store create?"),
        (["daemon", "stat"], 'daemon has no command "stat"', "Did you mean: mnemonctl daemon"),
        (["qqqqqqq"], 'there is no command "qqqqqqq"', "See: mnemonctl --help"),
        (["stop"], 'there is no command "stop"', "Did you mean: mnemonctl daemon stop?"),
        (["restart"], 'there is no command "restart"', "Did you mean: mnemonctl daemon restart?"),
        (["find", "x"], 'there is no command "find"', "Did you mean: mnemonctl recall?"),
        (["add", "x"], 'there is no command "add"', "Did you mean: mnemonctl remember?"),
        (["rm", "x"], 'there is no command "rm"', "Did you mean: mnemonctl forget?"),
        (["gte", "x"], 'there is no command "gte"', "Did you mean: mnemonctl get?"),
        (["store", "frobnicate"], 'store has no command "frobnicate"', "It has: list, create, set, path, remove."),
        (["store", "delete", "x"], 'store has no command "delete"', "Did you mean: mnemonctl store remove?"),
        (["store", "set"], "store set needs the name of a store", "See: mnemonctl store set --help"),
        (["backup", "lst"], 'backup has no command "lst"', "Did you mean: mnemonctl backup list?"),
        (["backup", "restore"], "backup restore needs the name of one backup", "`mnemonctl backup list` shows them"),
        (["backup", "list", "--yes"], "backup list takes no --yes", "See: mnemonctl backup --help"),
        (["backup", "--into", "x"], "backup create takes no --into", "See: mnemonctl backup --help"),
        (["config", "show", "a", "b"], "config show needs one table or setting", "See: mnemonctl config show --help"),
        (["store", "new", "x"], 'store has no command "new"', "Did you mean: mnemonctl store create?"),
        (["--bogus"], "there is no option --bogus", "See: mnemonctl --help"),
        (["-V"], "there is no option -V", "Did you mean --version?"),
        (["--versoin"], "there is no option --versoin", "Did you mean --version?"),
        (["--bogus", "recall", "x"], "there is no option --bogus", "See: mnemonctl --help"),
        (["store", "--jsn"], "there is no option --jsn", "Did you mean --json?"),
        (["--limit", "3"], "--limit has to follow the command", "Write the command first"),
        (["recall", "x", "--weird"], "recall has no option --weird", "recall --help; what follows -- is text"),
        (["list", "--bogus"], "list has no option --bogus", "See: mnemonctl list --help\n"),
        (["recall", "x", "--xyzzy"], "recall has no option --xyzzy", "recall --help"),
        (["recall", "x", "--catgory", "fact"], "recall has no option --catgory", "Did you mean --category?"),
        (["recall", "x", "-z"], "recall has no option -z", "See: mnemonctl recall --help"),
        (["recall", "x", "--limit", "many"], "--limit/-n: must be a whole number, not 'many'", "recall --help"),
        (["recall", "x", "--limit"], "--limit/-n: expected one argument", "recall --help"),
        (["recall"], "recall needs a question", "recall --help"),
        (["remember"], "remember needs the text to remember", "remember --help"),
        (["get"], "get needs the id of a memory", "get --help"),
        (["get", "aaaaaa", "bbbbbb"], "only one (2 were given)", "get --help"),
        (["list", "extra"], "list takes no arguments, only options (1 was given)", None),
        (["list", "two", "words"], "list takes no arguments, only options (2 were given)", None),
        (["get", "1"], "the id has 1 character; it needs 6", "give at least 6 characters of the id; `mnemonctl list`"),
        (["forget", "1a2b3"], "the id has 5 characters; it needs 6", "`mnemonctl list` shows 8"),
        (["daemon", "stop", "now"], "daemon stop takes no arguments", None),
        (["sync", "status", "--join"], "--join is for a sync, not for its status", "See: mnemonctl sync --help"),
        (["daemon", "start", "--wait", "soon"], "--wait", "daemon start --help"),
        (["--limit", "3", "recall", "x"], "--limit has to follow the command", "Write the command first"),
        (["recall", "x", "--limi", "3"], "recall has no option --limi", "Did you mean --limit?"),
        (["recall", "\x1b[31m--x"], "", None),
        (["\x1b]0;x\x07"], "\\x1b]0;x\\x07", None),
    ],
)  # fmt: skip
def test_usage_errors(argv: list[str], message: str, hint: str | None) -> None:
    parsed = parse(line(*argv))
    if not message:
        assert isinstance(parsed, Invocation)
        return
    assert isinstance(parsed, CliRunResult)
    assert (parsed.exit_code, parsed.stdout) == (2, "")
    assert message in parsed.stderr
    assert (hint or "") in parsed.stderr
    assert "\x1b" not in parsed.stderr


@each_row("name", [command.name for command in COMMANDS])
@each_row("option", ["--help", "-h"])
def test_every_command_has_help_with_examples_first(name: str, option: str) -> None:
    result = answered(*name.split(), option)
    assert result.exit_code == 0
    if name == "help":
        assert result.stdout.startswith("mnemonctl: remember and recall")
        return
    assert result.stdout.startswith("Examples\n  ")
    assert f"mnemonctl {name}" in result.stdout
    assert BY_NAME[name].summary.split()[0] in result.stdout
    assert "Usage" in result.stdout
    assert result.stdout.endswith("\nOptions of every command: mnemonctl help\n")
    assert all(option in result.stdout for option in own_options(name))
    assert max(map(text_width, result.stdout.splitlines())) <= 80


def own_options(name: str) -> set[str]:
    return set(BY_NAME[name].parser.option_names()) - {*GLOBAL_VALUES, *GLOBAL_FLAGS}


def test_help_says_what_only_the_code_knows() -> None:
    remember, recall = answered("help", "remember").stdout, answered("help", "recall").stdout
    assert all(mode in remember[remember.index("--entity-mode") :][:200] for mode in ENTITY_MODES)
    assert "use" in recall[recall.index("--no-touch") :][:80]
    assert "now" in answered("help").stdout.partition("--now")[2][:80]
    assert all(category in text for category in CATEGORIES for text in (remember, recall))
    assert all(status in recall[recall.rindex("--status") :][:200] for status in STATUSES)
    for meaning in ("score: ", "confidence: ", "sparse results: "):
        assert sum(line.startswith(meaning) for line in recall.splitlines()) == 1


def test_help_lists_every_exit_code_on_a_line_of_its_own() -> None:
    page = answered("--help").stdout.partition("Exit codes\n")[2].partition("\n\n")[0]
    assert [int(line.split()[0]) for line in page.splitlines()] == sorted({0, 74, 130, *(kind.exit for kind in KINDS)})


def test_help_is_laid_out_where_there_is_no_terminal_too() -> None:
    parsed = parse(CliRunParams(argv=["remember", "--help"]))
    assert isinstance(parsed, CliRunResult)
    assert parsed.stdout == answered("remember", "--help").stdout


def test_the_shortest_prefix_is_that_of_the_protocol() -> None:
    metadata = get_args(IdOrPrefix)[1]
    assert metadata.min_length == MIN_PREFIX <= SHORT_ID


def test_every_synonym_means_a_command() -> None:
    assert set(parser.SYNONYMS.values()) <= set(BY_NAME)
    assert not set(parser.SYNONYMS) & set(BY_NAME)


def test_every_synonym_of_an_option_is_one_that_its_command_has() -> None:
    for word, meant in parser.OPTION_SYNONYMS.items():
        name, _, option = meant.split()
        assert word not in {*BY_NAME, *parser.SYNONYMS}
        assert option in BY_NAME[name].parser.option_names()


@each_row("argv", [[], ["--help"], ["help"], ["--store", "x"], ["help", "--json"]])
def test_help_for_everything(argv: list[str]) -> None:
    result = answered(*argv)
    assert result.exit_code == 0
    assert result.stdout.index("Examples") < result.stdout.index("Commands")
    assert all(f"  {command.name}" in result.stdout for command in COMMANDS)


@each_row("argv", [["version"], ["--version"], ["recall", "--version"]])
def test_version(argv: list[str]) -> None:
    assert answered(*argv).stdout.startswith("mnemonctl 0.")
    assert '"protocol":1' in answered(*argv, "--json").stdout


def test_a_switch_names_one_rule_or_none() -> None:
    assert request("rules", "off") == ("rules.set", {"state": "off"})
    assert request("rules", "on", "1a2b3c4d") == ("rules.set", {"id": "1a2b3c4d", "state": "on"})
    assert request("rules", "enforce", "1a2b3c4d", "ask") == ("rules.set", {"id": "1a2b3c4d", "enforce": "ask"})


def test_every_option_is_a_parameter_of_its_method_or_global() -> None:
    for_several_methods = {
        "backup",
        "cues",
        "embed",
        "export",
        "import",
        "rules off",
        "rules on",
        "rules enforce",
        "share",
        "sync",
    }
    methods = {name.replace(".", " ") for name in METHODS} | for_several_methods
    methods |= {
        "hook",
        "useful",
        "misled",
        "entity not-same",
    }  # commands that say what they do better than their method
    assert {command.name for command in COMMANDS if not command.is_local} <= methods


WORDS = st.sampled_from(
    ["recall", "store", "create", "daemon", "help", "version", "--help", "-h", "--store", "--json", "--", "-", "-5",
     "x", "--limit", "--tags", "--now=", "", "-q", "--versio", "start"]
)  # fmt: skip


@given(st.lists(st.one_of(WORDS, st.text(max_size=6)), max_size=8))
def test_any_line_is_understood_or_answered(argv: list[str]) -> None:
    parsed = parse(line(*argv))
    if isinstance(parsed, CliRunResult):
        assert parsed.exit_code in {0, 2}
        assert bool(parsed.stdout) != bool(parsed.stderr)


def test_no_option_of_a_command_has_two_meanings() -> None:
    for command in COMMANDS:
        flags = [flag for option in (*command.parser.options, *GLOBALS) for flag in (*option.flags, *option.off)]
        assert len(flags) == len(set(flags)), command.name


@each_row(
    ("argv", "params"),
    [
        (["-n3"], {"limit": 3}),
        (["-n=3"], {"limit": 3}),
        (["-qn", "3"], {"limit": 3}),
        (["--category=fact"], {"category": "fact"}),
        (["--source=two words"], {"source": "two words"}),
        (["--source", "- buy milk"], {"source": "- buy milk"}),
        (["--source", "-"], {"source": "-"}),
        (["--source", "--two words"], {"source": "--two words"}),
        (["--source="], {"source": ""}),
        (["--rerank", "--no-rerank"], {"rerank": False}),
        (["--source", "a", "--source", "b"], {"source": "b"}),
    ],
)
def test_ways_to_write_an_option(argv: list[str], params: dict[str, object]) -> None:
    assert request("recall", "tea", *argv) == ("recall", {"query": "tea", **params})


@each_row(
    ("argv", "sentence"),
    [
        (["recall", "x", "--quiet=yes"], "--quiet/-q: takes no value, but 'yes' was given"),
        (["recall", "x", "-qz"], "recall has no option -z"),
        (["recall", "x", "--source", "--limit", "3"], "--source: expected one argument"),
        (["logs", "--level", "loud"], "--level: must be one of debug, info, warning, error, not 'loud'"),
        (["logs", "-n", "-1"], "--lines/-n: must be 0 to 1000000, not '-1'"),
    ],
)
def test_options_that_are_not_understood(argv: list[str], sentence: str) -> None:
    assert sentence in answered(*argv).stderr
