"""Passwords made of words. Nothing in them tells them from prose and code, so the way they are written must.

In quotation marks, in an environment file, in a connection string or an option, a word is a value. Elsewhere it must
end its clause and be no word that says something about a password: its state, its type, what is to be done with it.
"""

from __future__ import annotations

import re

from mnemond.text.secret_values import is_placeholder

SHORTEST_WORD = 6
"""Letters, as of every password."""

FEWEST_WORDS = 4
"""Words with spaces between them that make a passphrase and no label."""

BEFORE = 200
"""Characters before a value in which an open bracket makes its name a parameter of code."""

STATES = frozenset({
    "accepted", "account", "active", "after", "again", "always", "anonymous", "another", "anything", "argument",
    "ascii", "asked", "automatic", "because", "before", "better", "binary", "blank", "boolean", "buffer",
    "bytearray", "callable", "cannot", "case", "change", "changes", "changing", "clear", "cleartext", "client",
    "column", "common", "complete", "compulsory", "config", "confirm", "correct", "create", "current", "database",
    "delete", "deprecated", "different", "digits", "document", "easily", "easy", "either", "elsewhere", "encoded",
    "enough", "enter", "environment", "everything", "exactly", "except", "expire", "expired", "expires", "external",
    "false", "field", "filled", "filter", "first", "fixed", "forgotten", "function", "global", "gone", "good",
    "hardcoded", "hashed", "here", "hidden", "ignored", "important", "incorrect", "inherit", "initial", "input",
    "insecure", "integer", "internal", "invalid", "invisible", "keychain", "known", "later", "leaked", "length",
    "letters", "local", "longer", "longtext", "lost", "manager", "mandatory", "manual", "master", "member",
    "method", "minimum", "missing", "mixed", "model", "models", "needed", "neither", "never", "nobody", "nonempty",
    "nothing", "nullable", "number", "numeric", "object", "obsolete", "okay", "omitted", "option", "other",
    "outdated", "output", "parameter", "plaintext", "policy", "process", "prompted", "property", "public", "python",
    "random", "randomly", "readonly", "record", "recovery", "remove", "request", "required", "reset", "response",
    "result", "right", "rotate", "rotation", "safe", "salted", "second", "secure", "sensitive", "server", "setting",
    "settings", "shared", "shorter", "should", "similar", "simple", "something", "somewhere", "source", "special",
    "stale", "static", "stolen", "strength", "strict", "strong", "stronger", "symbol", "system", "target",
    "temporary", "theirs", "there", "third", "twice", "unchanged", "unicode", "unique", "unless", "update",
    "validate", "varchar", "variable", "vault", "verify", "virtual", "visible", "wanted", "weak", "weaker",
    "within", "without", "written", "wrong", "yours",
})  # fmt: skip
"""What prose, types and code say where a password would stand, beside the placeholders of every value."""

_STATE_ENDINGS = ("ed", "ing", "ble", "ful", "ous", "ive", "less", "ly", "ent", "ant", "tion", "ment", "ness", "able")
_FUNCTION_WORDS = frozenset({
    "again", "and", "any", "are", "but", "can", "characters", "does", "each", "enter", "few", "for", "from", "had",
    "has", "have", "how", "into", "its", "least", "like", "long", "may", "more", "must", "new", "nor", "not", "off",
    "old", "one", "only", "our", "please", "same", "set", "shall", "should", "some", "such", "than", "that", "the",
    "their", "them", "then", "these", "they", "this", "those", "too", "type", "use", "used", "using", "very", "was",
    "were", "what", "when", "where", "which", "who", "will", "with", "without", "would", "you", "your",
})  # fmt: skip
_WORD = re.compile(rf"[A-Za-z\u00c0-\u024f]{{{SHORTEST_WORD},64}}")
_HYPHENATED = re.compile(r"[A-Za-z]{3,24}(?:-[A-Za-z]{3,24}){2,9}")
_PHRASE = re.compile(rf"[a-z]{{3,24}}(?: [a-z]{{3,24}}){{{FEWEST_WORDS - 1},11}}")
_OF_FIELDS = re.compile(
    r"(?i)pass|pwd|passwd|pswd|passwort|contrase|secret|token|key|cred|user|login|auth|hash|field|input|label|string|"
    r"param|value|enter|your|hidden|mask|crypt|sha|none|null|invalid|wrong|incorrect|exist|sensitive|require|default"
)
_CLAUSE_END = re.compile(r"[ \t]*(?:$|\n|[,;.!，。；！）)](?=\s|$|[^\x00-\x7f])|[，。；！、]|\\n|[ \t]#)")
_SAID = re.compile(r"(?:is|was|set to|changed to|is now|[是为為成])[ \t:：]{0,3}$")


def is_word(value: str) -> bool:
    """One word or several with hyphens, and none of those that stand for a value or name a field."""
    if not (_WORD.fullmatch(value) or _HYPHENATED.fullmatch(value)):
        return False
    return not (is_placeholder(value) or _OF_FIELDS.search(value) or value.lower() in STATES)


def is_words(value: str) -> bool:
    """A phrase of small letters without the words that sentences cannot do without."""
    if not _PHRASE.fullmatch(value) or is_placeholder(value) or _OF_FIELDS.search(value):
        return False
    return _FUNCTION_WORDS.isdisjoint(value.split())


def says_so(text: str, start: int, end: int, sign: str) -> bool:
    """Whether the word `text[start:end]`, without quotation marks, can only be what is named before `sign`."""
    if not _CLAUSE_END.match(text, end) or text[start:end].endswith(_STATE_ENDINGS):
        return False
    if "=" in sign or _SAID.search(sign.strip(" \t")):
        return "=" not in sign
    before = text[max(0, start - BEFORE) : start].rpartition("\n")[2]
    return sign.strip(" \t*") in (":", "：") and "(" not in before
