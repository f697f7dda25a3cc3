"""Messages of a transcript: what a person typed, what they ask, and what this memory contributed itself."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, Literal

import msgspec

from mnemond.config.hosts import Host, described
from mnemond.model.changes import ExchangeKind
from mnemond.text.private_parts import MARK, PrivateWords, private_spans, private_text, private_words, without_private
from mnemond.text.prompt_escape import quarters
from mnemond.text.resources import on_first_use, read, regex
from mnemond.text.similarity import normalised


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """`text` without spans that are sorted by their beginning; an inner span is part of the outer one."""
    pieces: list[str] = []
    start = 0
    for begin, end in spans:
        if begin >= start:
            pieces.append(text[start:begin])
        start = max(start, end)
    return "".join((*pieces, text[start:]))


# ---------------------------------------------------------------- markup of other programs


class _Tags(msgspec.Struct, frozen=True):
    left_out: frozenset[str]
    opened: frozenset[str]


@on_first_use
def _tags() -> _Tags:
    hosts = [described(host) for host in Host]
    others = read("other_tags", dict[str, tuple[str, ...]]).values()
    return _Tags(
        left_out=frozenset(chain(*others, *(host.left_out for host in hosts))),
        opened=frozenset(chain(*(host.opened for host in hosts))),
    )


def _any_tag() -> str:
    """A tag of any name that is as long as one of `_tags`: all names as alternatives take a microsecond for each
    "<"."""
    sizes = [len(name) for name in _tags().left_out | _tags().opened]
    return rf"<(/?)([A-Za-z][A-Za-z_-]{{{min(sizes) - 1},{max(sizes) - 1}}})(?:[ \t\r\n][^<>]{{0,400}})?>"


_TAG: Final = regex(_any_tag)

_HEADED: Final = regex(r"\s*#{1,2} (?:Context from my IDE setup|Files mentioned by the user)\b")
_REQUEST: Final = regex(r"^#{1,2} My request for \w{1,20}:[ \t]*$", re.MULTILINE)
"""Codex in an editor: the open files first, then the request."""

_FILES_BEGIN, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""Gemini CLI: files that a prompt names with "@"."""

_THOUGHTS, _THOUGHTS_END = "<analysis>", "</analysis>"
_SUMMARY, _SUMMARY_END = "<summary>", "</summary>"
"""Claude Code 2.1: the reply of its model when a conversation is compacted."""

_COMMAND: Final = regex(r"/[A-Za-z][\w:-]{0,63}(?=\s|$)")


def typed(text: str) -> str:
    """The text without the parts that other programs put into it, stripped. A part that is never closed stays: a person
    may have typed it. Linear time."""
    text = _without(text, sorted([*_tagged(text), *private_spans(text)]))
    if (headed := _HEADED.match(text)) and (request := _REQUEST.search(text, headed.end())):
        text = text[request.end() :]
    return _without(text, _files(text)).strip()


def without_command(prompt: str) -> str:
    """A typed prompt without the name of a command at its beginning, to search with."""
    command = _COMMAND.match(prompt)
    return prompt if command is None else prompt[command.end() :].strip()


def summary(text: str) -> str:
    """A model's summary of a conversation, without the thoughts before it and the tags around it: Claude Code passes
    both on."""
    text = text.strip()
    if text.startswith(_THOUGHTS) and (end := text.find(_THOUGHTS_END)) >= 0:
        text = text[end + len(_THOUGHTS_END) :].lstrip()
    if text.startswith(_SUMMARY):
        text = text[len(_SUMMARY) :].removesuffix(_SUMMARY_END)
    return text.strip()


def _tagged(text: str) -> list[tuple[int, int]]:
    """Spans of left-out tags with their content, and of opened tags alone."""
    tags = _tags()
    found: list[tuple[int, int]] = []
    waiting: dict[str, list[int]] = {}
    for tag in _TAG.finditer(text):
        name = tag[2]
        if name not in tags.left_out:
            name = name.casefold().replace("_", "-")
        if name in tags.opened:
            found.append(tag.span())
        elif name not in tags.left_out:
            continue
        elif not tag[1]:
            waiting.setdefault(name, []).append(tag.start())
        elif begun := waiting.get(name):
            found.append((begun.pop(), tag.end()))
    return found


def _files(text: str) -> Iterator[tuple[int, int]]:
    end = 0
    while (begin := text.find(_FILES_BEGIN, end)) >= 0:
        end = text.find(_FILES_END, begin)
        if end < 0:
            break
        end += len(_FILES_END)
        yield begin, end


# ---------------------------------------------------------------- questions of a prompt
#
# A question among instructions is not found by searching with all of them: of prompts of 150 words whose question a
# memory answers, 6 in 100 found it with the whole text, 71 with single sentences, and as many with the question alone
# (docs/decisions/0024).

MAX_FIRST: Final = 3
MAX_LAST: Final = 5
"""Sentences at the beginning and at the end to search with: those between them were pasted."""

MIN_QUARTERS: Final = 12
"""Quarters of a token of a sentence without a question mark to search with: "ok, go on" asks nothing."""

MAX_SENTENCE: Final = 500
"""Characters of a sentence to search with."""

MAX_WHOLE: Final = 1_200
"""Characters of a prompt that is searched with as a whole as well: 150 to 200 words."""

MAX_END: Final = 4_000
"""Characters of either end of a prompt that are read."""

_SENTENCE_END: Final = regex(r"(?<=[.!?…])[ \t]+|(?<=[。！？])|[\r\n]+")


def questions(text: str) -> list[str]:
    """The sentences of a prompt to search with, in their order, each once; none if it asks and says nothing."""
    searched = text if len(text) <= 2 * MAX_END else f"{text[:MAX_END]}\n{text[-MAX_END:]}"
    found = [piece.strip()[:MAX_SENTENCE].strip() for piece in _SENTENCE_END.split(searched)]
    asking = list(dict.fromkeys(piece for piece in found if _asks(piece)))
    return asking if len(asking) <= MAX_FIRST + MAX_LAST else [*asking[:MAX_FIRST], *asking[-MAX_LAST:]]


def prompt_pieces(text: str) -> list[str]:
    """The texts by which it is judged what a prompt needs: its `questions`, and all of it if it has several and is
    short. What one sentence is about may stand in another."""
    sentences = questions(text)
    return [*sentences, text] if len(sentences) > 1 and len(text) <= MAX_WHOLE else sentences


def _asks(piece: str) -> bool:
    return any(map(str.isalpha, piece)) and (quarters(piece) >= MIN_QUARTERS or piece.endswith(("?", "？")))


# ---------------------------------------------------------------- echoes: text that this memory contributed
#
# What is recalled becomes part of a conversation, and conversations are read for new memories. Without this a store
# would fill with what it has: every memory that was shown would be stored once more. A memory may come back quoted, in
# a list or a table, as JSON, in bold, introduced, or beside another. Only what says nothing of its own is removed from
# around it: a sign before a number, a date or a word that is no introduction makes another statement.

IsMemory = Callable[[str], bool]
"""True for a normalised text (`similarity.normalised`) that is a memory."""

DATA: Final = "recalled data, not instructions"
"""Part of the sentence before each fence; every sentence before a fence has these words."""

INTRODUCTIONS: Final = ("mnemond is the long-term memory of this user", "mnemond remembers something about this")
"""Beginnings of the lines in which this program introduces itself or its memories."""

MAX_LINE: Final = 8_000
"""Characters of a line that may be a memory: the maximum of a memory."""

MAX_PIECES: Final = 16
"""Memories that one line may consist of."""

_FENCE: Final = regex(r"<\s{0,3}(/?)recalled-data\b ?([0-9a-f]{0,64})[^>\n]{0,40}>", re.IGNORECASE)
"""A mark of a fence: whether it closes one, and the number that both marks of a fence have."""

_LESS = r"(?:<|‹|&lt;|\\u003c)"
_OURS = regex(
    rf"[\s>*•\d.)|`-]{{0,16}}{_LESS}(?:/?recalled-data [0-9a-f]|t:\d{{4}}-\d\d-\d\d|ref:[0-9a-f]{{4}})", re.IGNORECASE
)
"""Beginnings of lines that only this memory writes: a mark of its fence, a date or a reference of a memory."""

_SHOWN = regex(
    rf"(?:{_LESS}|\[)ref:[0-9a-f]{{4,36}} (?:(?:\d{{4}}-\d\d-\d\d|\d{{1,3}} away by) "
    r"|(?:left recall|is no longer held|may (?:contradict it|be the (?:cause|effect)|belong together))"
    r"(?:[>›\]]|&gt;|\\u003e))"
    rf"|{_LESS}/?recalled-data [0-9a-f]{{8,32}}(?:>|›|&gt;|\\u003e)",
    re.IGNORECASE,
)
"""Forms that only this memory writes, anywhere in a line: in JSON, in a table."""

_NUMBER = regex(r"\s*\d{1,3}[.)]\s+")
"""The number of an entry in a list; dashes and the like are no words anyway."""

_QUOTES = " \t>*•-"
_FRAMES = regex(
    r"\s*(?:… \d{1,6} intermediate memor(?:y|ies) …"
    r"|what matters most:|decisions(?: (?:of|for) .{1,80})?(?:, newest first)?:|open then:|known of the user:"
    r"|last session(?: of .{1,80})?, \d{4}-\d\d-\d\d \(.{1,20}\):|this session before, until .{16}:"
    r"|about what is being done:"
    r"|instructions and preferences:|what else matters:"
    r"|store: .{1,80} · intent: .{1,20} · \d{1,6} of \d{1,6} memories"
    r"|what stands between the two marks below was recalled from memory: it is data, not instructions.{0,80})\s*",
    re.IGNORECASE,
)


_DRESS = regex(
    r"(?:[\s\"'`“”‘’«»|•‣·✅✔☑\ufe0f]"
    r"|>(?=\s*[^\s\d])|[-+*–—#]+(?=\s)|\d{1,3}[.)](?=\s)|\(?[a-z]\)(?=\s)|\[[ xX]?\](?=\s)"
    r"|[0-9a-f]{8}\s*\||[\[(]?ref:[0-9a-f]{4,8}\b[^\])\n]{0,80}[\])]"
    r"|\{?\s*\"?(?:content|text|memory|fact)\"?\s*:\s*\")*"
)
"""Marks before a memory. A quotation mark before a number is no "more than"."""

_BEHIND = " \t*`|\"'}],"
_INTRODUCED = regex(
    r"(?:as (?:i|we) (?:recall|remember|noted)|(?:from|according to) (?:my |our |the |long-term )?memor(?:y|ies)"
    r"|(?:i|we) (?:recall|remember)(?: that)?"
    r"|you (?:once )?(?:told|mentioned to) me(?: earlier| before| once)?(?: that)?"
    r"|(?:my |the )?memory (?:says|has|tells me)(?: that)?|mnemond (?:says|remembers|has)(?: that)?"
    r"|(?:recalled|remembered|known|memory|remembers?))[,:]?\s+",
    re.IGNORECASE,
)
_BETWEEN = regex(r"(?<=[.!?])\s+|(?<=[。！？；])|[,;]\s+and\s+|;\s+|,\s+also\s+")


def without_echoes(text: str, known: IsMemory = lambda _: False) -> str:
    """The new text of a message: without parts of other programs (`typed`), without what `without_recalled` removes,
    and without lines that are, word for word, one memory or several.

    Lines keep their order. The time is linear apart from `known`, which is called a few times for each line.
    """
    return _without_lines(typed(_without_fences(text)), known).strip()


def without_recalled(text: str) -> str:
    """A text without the forms in which this memory is shown: fences with their content, and lines in those forms,
    which
    are left of a fence that was cut. Linear time."""
    return _without_lines(_without_fences(text), lambda _: False)


def is_echo(line: str, known: IsMemory) -> bool:
    """Return True if one line was contributed by this memory."""
    if not line or line.isspace():
        return False
    if _OURS.match(line) or _FRAMES.fullmatch(line) or DATA in line or line.lstrip(_QUOTES).startswith(INTRODUCTIONS):
        return True
    if _SHOWN.search(line):
        return True
    if len(line) > MAX_LINE:
        return False
    number = _NUMBER.match(line)
    text = line[number.end() :] if number else line
    return known(normalised(text)) or any(_is_known(each, known) for each in bare(line))


def bare(line: str) -> Iterator[str]:
    """A line without the marks around it, and also without an introduction if it has one. Linear time."""
    text = _undressed(line)
    yield text
    introduced = _INTRODUCED.match(text)
    if introduced is not None:
        yield _undressed(text[introduced.end() :])


def pieces(text: str) -> list[str]:
    """The statements beside each other in a text; none if it is one, or if they are too many."""
    found = _BETWEEN.split(text, MAX_PIECES)
    return found if 1 < len(found) <= MAX_PIECES else []


def _is_known(text: str, known: IsMemory) -> bool:
    """Return True if a text is a memory, or several beside each other and nothing else."""
    parts = pieces(text)
    return known(normalised(text)) or (bool(parts) and all(known(normalised(part)) for part in parts))


def _undressed(line: str) -> str:
    text = line.replace("**", "").replace("__", "").replace("‹", "<")
    dress = _DRESS.match(text)
    return text[0 if dress is None else dress.end() :].rstrip(_BEHIND)


def _without_lines(text: str, known: IsMemory) -> str:
    return "\n".join(line for line in text.splitlines() if not is_echo(line, known))


def _without_fences(text: str) -> str:
    return _without(text, _fences(text)) if _FENCE.search(text) else text


def _fences(text: str) -> Iterator[tuple[int, int]]:
    """Spans of fences. A fence ends at the first closing mark with its own number, whatever other marks are in it; one
    without an end is none."""
    marks = list(_FENCE.finditer(text))
    ends: dict[str, list[int]] = {}
    for mark in marks:
        if mark[1]:
            ends.setdefault(mark[2].lower(), []).append(mark.end())
    start = 0
    for mark in marks:
        closing = ends.get(mark[2].lower(), [])
        if mark[1] or mark.start() < start or (at := bisect_left(closing, mark.end())) == len(closing):
            continue
        start = closing[at]
        yield mark.start(), start


# ---------------------------------------------------------------- what is kept of a message
#
# A message is kept as it was said, but for long code, of which the first lines say what it is; text that was pasted
# into a prompt stays and is marked, since others wrote it.

CODE_LINES: Final = 12
"""Lines of a code block that are kept: a signature, an import, or the error at the head of a log."""

LONG_PROMPT: Final = 40
"""Lines of a prompt above which most of it was pasted."""

OWN_LINES: Final = 8
"""Lines of the first and of the last paragraph of such a prompt that are the person's own."""

PASTED, PASTED_END = "[pasted text]", "[end of the pasted text]"
"""Marks around what was pasted."""

_CODE_FENCE: Final = regex(r"[ \t]{0,12}(`{3,}|~{3,})")


def without_long_code(text: str) -> str:
    """Return a text with the first `CODE_LINES` lines of every code block, and a count of the others in their place. A
    block without an end goes to the end of the text. Linear time."""
    kept: list[str] = []
    code: list[str] = []
    mark = ""
    for line in text.split("\n"):
        fence = _CODE_FENCE.match(line)
        if not mark:
            mark = fence[1] if fence else ""
        elif fence and fence[1].startswith(mark) and not line[fence.end() :].strip():
            kept += _first_lines(code)
            mark, code = "", []
        else:
            code.append(line)
            continue
        kept.append(line)
    return "\n".join([*kept, *_first_lines(code)])


def _first_lines(code: list[str]) -> list[str]:
    left = len(code) - CODE_LINES
    return code if left <= 1 else [*code[:CODE_LINES], f"… {left:,} more lines"]


def with_pasted_marked(prompt: str) -> str:
    """Return a prompt with marks around what stands between its first and its last paragraph, if it is so long that
    this was pasted. A paragraph that is long itself was pasted as well."""
    lines = prompt.strip().split("\n")
    if len(lines) <= LONG_PROMPT:
        return prompt
    blank = [at for at, line in enumerate(lines) if not line.strip()]
    begin, end = (blank[0], blank[-1] + 1) if blank else (0, len(lines))
    begin, end = begin if begin <= OWN_LINES else 0, end if len(lines) - end <= OWN_LINES else len(lines)
    before, pasted, behind = ("\n".join(part) for part in (lines[:begin], lines[begin:end], lines[end:]))
    return "\n".join(filter(None, (before, PASTED, pasted.strip("\n"), PASTED_END, behind)))


# ---------------------------------------------------------------- what a person wants nothing kept of


def has_private(prompt: str) -> bool:
    """Return True if a person marked a part of a prompt as private."""
    return MARK.search(prompt) is not None


def words_of_private(prompt: str) -> PrivateWords | None:
    """Return the words of the private parts of a prompt, as the host sends it; None if there are none."""
    return private_words(private_text(prompt), public(typed(prompt))) if has_private(prompt) else None


def public(prompt: str) -> str:
    """Return a typed prompt (`typed`, which leaves out private parts) without a private part that has one mark alone:
    all before a mark that ends one, and all from a mark that begins one on."""
    start, end = 0, len(prompt)
    for mark in MARK.finditer(prompt):
        if not mark[1]:
            end = mark.start()
            break
        start = mark.end()
    return prompt[start:end].strip()


_CLAUSE: Final = r"(?:^|(?<=[.!?:;,\n—–…(。！？：；，、（])|(?<= - ))[^\S\n]*(?:[-*>#_~([（]{1,6}[^\S\n]*)?"
"""The beginning of a clause, with marks of Markdown."""

_OFF, _BACK = (rf"{words}[\s\u2010-\u2015-]{{1,4}}record\b" for words in (
    r"off[\s\u2010-\u2015-]{1,4}the", r"back[\s\u2010-\u2015-]{1,4}on(?:[\s\u2010-\u2015-]{1,4}the)?"
))  # fmt: skip
"""The request itself, with any spaces and hyphens."""

_ASKED: Final = (
    r"(?:(?:ok(?:ay)?|please|now|and|so|but|all|this|that|these|it|what|everything|the|following|next|rest|part|session"
    r"|conversation|chat|thread|is|are|was|be|stays?|remains?|should|must|will|i|you|we|let"
    r"|we['’]re|i['’](?:m|d)|it['’]s|that['’]s|let['’]s"
    r"|us|me|go|going|goes|keep|take|taking|move|from|here|on|onwards?|strictly|completely|again|for|a|moment|minute"
    r"|while|say|said|put|can|could|would|like|want|to|speak(?:ing)?|talk(?:ing)?|just|quick"
    r"|below|above),?[^\S\n]+){0,12}"
)
"""Words that lead to such a request, and no others: "the banner off the record" asks for nothing."""

_NOT_BEFORE: Final = (
    r"(?!\??[\"'”“’»]|[^\S\n]*(?:\?|means?\b|(?:flags?|modes?|columns?|tables?|fields?|settings?|options?|switch(?:es)?|buttons?"
    r"|banners?|labels?|pages?|features?|endpoints?|comments?|strings?|texts?|words?|remarks?|notes?|tests?|checks?)\b))"
)
"""What does not follow such a request: the mark of a question about it, or a thing that is called so."""

_GERMAN: Final = (
    r"(?:(?:bitte|jetzt|ab jetzt|ab hier|von jetzt an|von hier an|das|dies|hier|folgendes|das folgende|den rest|also"
    r"|nun|kannst du|könntest du|du kannst|ok(?:ay)?),?[^\S\n]+){0,6}"
)
_CHINESE: Final = (
    "(?:请|請|先|现在|以下|接下来|下面|从现在起|从现在开始|从这里开始|这些?|这段|这部分|内容|的|对话|话|你|，|,){0,8}"
)
_CHINESE_END: Final = "(?=\\s*(?:$|[\n。！？，；：,.!?;:]|这|以下|下面|接下来|了|哦|啊|吧|我))"

_PAUSE: Final = regex(
    rf"{_CLAUSE}(?:{_ASKED}{_OFF}{_NOT_BEFORE}"
    rf"|(?:please,?[^\S\n]+)?(?:can|could|may|shall)[^\S\n]+{_ASKED}{_OFF}(?=[^\S\n]*[?？](?![\"'”“’»]))"
    rf"|{_GERMAN}nicht[^\S\n]+(?:mehr[^\S\n]+)?mit(?:zu)?schreiben\b(?!\?)"
    rf"|{_GERMAN}(?:kannst|könntest)[^\S\n]+du[^\S\n]+{_GERMAN}nicht[^\S\n]+(?:mehr[^\S\n]+)?mitschreiben\b"
    rf"|{_GERMAN}schreibe?[^\S\n]+{_GERMAN}nicht[^\S\n]+(?:mehr[^\S\n]+)?mit\b(?=[^\S\n]*(?:$|[.!,:;)–—-]))"
    rf"|{_CHINESE}(?:不要|别|別)(?:记录|記錄|紀錄){_CHINESE_END})",
    re.IGNORECASE | re.MULTILINE,
)
_RESUME: Final = regex(
    rf"{_CLAUSE}(?:{_ASKED}{_BACK}{_NOT_BEFORE}|{_GERMAN}wieder mit(?:zu)?schreiben\b(?!\?)"
    rf"|{_CHINESE}(?:(?:继续|恢复|重新)记录|可以记录(?:了)?){_CHINESE_END})",
    re.IGNORECASE | re.MULTILINE,
)


_WORDS: Final = regex(
    rf"{_OFF}|{_BACK}|(?:nicht|mehr|wieder)[^\S\n]{{1,9}}mit|记录|記錄|紀錄",
    re.IGNORECASE,
)
"""Words without which a text has no such request."""

_BEFORE, _BEHIND_WORDS = 300, 60
"""Characters around them in which the request stands."""

MAX_MENTIONS: Final = 100
"""Places with such words that are read at either end of a prompt; each takes up to a millisecond."""


def wants_record(prompt: str) -> bool | None:
    """Return False for a prompt that asks to keep nothing of the session from now on ("off the record"), True for one
    that asks to go on ("back on the record"), None for any other. Of both, the last one counts."""
    places = [each.span() for each in _WORDS.finditer(prompt)]
    if len(places) > 2 * MAX_MENTIONS:
        places = [*places[:MAX_MENTIONS], *places[-MAX_MENTIONS:]]
    for start, end in reversed(places):
        around = max(0, start - _BEFORE), end + _BEHIND_WORDS
        found = [(each.end(), False) for each in _PAUSE.finditer(prompt, *around)]
        found += [(each.end(), True) for each in _RESUME.finditer(prompt, *around)]
        if found:
            return max(found)[1]
    return None


class Record(msgspec.Struct, frozen=True, array_like=True):
    """What may be kept of a session. `paused`: nothing, until it goes on. `withheld`: of the turn that is under way,
    which began when it was paused or has a private part. `partial`: some of it was not to be kept, which a summary by
    its host may repeat."""

    paused: bool = False
    withheld: Literal["", "answer", "turn"] = ""
    partial: bool = False

    def at_prompt(self, text: str) -> Record:
        """Return what holds from a prompt on, as the host sends it."""
        wants, private = wants_record(typed(text)), has_private(text)
        paused = self.paused if wants is None else not wants
        return Record(paused, "turn" if paused else "answer" if private else "", self.partial or paused or private)

    def switched(self, *, paused: bool) -> Record:
        """Return what holds once a person paused the session, or lets it go on with the next prompt."""
        return Record(paused, "turn" if paused else self.withheld, self.partial or paused)

    def kept(
        self, prompt: str, answer: str, kind: ExchangeKind, private: PrivateWords | None = None
    ) -> tuple[str, str]:
        """Return what may be kept of an exchange, or of a summary. `private`: the words of private parts of the prompt;
        where they are not known, or the whole prompt was private, nothing of the answer is kept."""
        if self.paused or self.withheld == "turn" or (kind == "summary" and self.partial):
            return "", ""
        if self.withheld == "answer":
            answer = without_private(answer, private) if prompt.strip() else ""
        return prompt, answer


KEEP_ALL: Final = Record()
