"""Parts of a message that are handed over, not said: quotations, texts to work on, games, invented characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from mnemond.extract.facts import MAX_SENTENCE
from mnemond.extract.prose import Sentence
from mnemond.text.resources import regex

LONG_MESSAGE: Final = 40
"""Sentences of a message above which most of it was pasted."""

OWN: Final = 8
"""Sentences at either end of such a message that are the person's own."""

_TEXT: Final = (
    r"(?:text|e-?mails?|message|letter|essay|story|poem|paragraph|sentences?|article|passage|abstract|draft|post"
    r"|speech|"
    r"statement|review|lyrics|dialogue|conversation|excerpt|bio|cv|resume|README|changelog|commit message|notice|page|"
    r"document|docs?|documentation|thread|transcript|minutes|notes|quote|log|newsletter|announcement|ad|advert"
    r"|listing|chat)"
)
_WORK_ON_TEXT: Final = regex(
    r"(?:\b(?:translate|proof-?read|rephrase|paraphrase|summari[sz]e|tl;?dr|correct (?:the|my) (?:grammar|spelling)"
    r"|fix (?:the"
    r"|my) (?:grammar|spelling)|spell-?check|word this|reword|put (?:this|it) (?:into|in) (?:plain|simple|other"
    r"|nicer))\b"
    rf"|\b(?:rewrite|improve|shorten|polish|edit|review|continue|analy[sz]e|classify|convert|format|explain|read|check"
    rf"|answer|look at|make sense of) (?:the|this|these|that|my|following)"
    rf"(?: following| below| [\w-]+)? {_TEXT}\b"
    rf"|\b(?:here is|here's|here are|below is|this is|i (?:got|received|found)|we (?:got|received)) (?:the|my|a|an"
    rf"|our|some|his|her"
    rf"|their|this) (?:[\w-]+ ){{0,3}}{_TEXT}\b"
    rf"|\b(?:what|how) (?:does|do|is|would|should) .{{0,30}}?\b(?:this|the following|these) (?:[\w-]+ )?{_TEXT}\b"
    rf"|\bthe following (?:[\w-]+ )?{_TEXT}\b|\bhow (?:do|would|should) (?:i|you|we) (?:say|translate|phrase|put)\b"
    rf"|\b(?:a|the|my|our|some) [\w-]+ (?:\w+ )?(?:wrote|said|says|writes|replied|reported|sent|posted|complain(?:s"
    rf"|ed))\b[^.]{{0,40}}:"
    rf"|\b(?:somebody|someone|he|she|they) (?:wrote|said|says|writes|replied|reported|sent)\b[^.]{{0,40}}:"
    rf"|\b(?:write|draft|compose|send) [^.:]{{0,60}}\b(?:{_TEXT}|mail|tweet|sms|cover letter)\b[^.:]{{0,40}}:"
    r"|\b(?:schreib|verfass|entwirf|formulier)\w{0,2} [^.:]{0,60}\b(?:e-?mail|mail|brief|nachricht|antwort|sms|text"
    r"|anschreiben)\b[^.:]{0,40}:"
    r"|\b(?:rewrite|rephrase|shorten|improve|quote|paste|pasting|homework|exercise|riddle|puzzle|quiz|template)\b[^.:]{0,40}:"
    r"|(?<!for the )\b(?:log|logs|console|terminal|output|traceback|stack ?trace|stderr|stdout|ausgabe)\b[^.:]{0,20}:"
    r"|\b(?:der|die|das|ein|eine|mein|meine|unser|unsere) [\w-]+ (?:schreibt|schrieb|sagt|sagte|fragt|fragte|meldet"
    r"|meint)\b[^.:]{0,30}:"
    r"|\b(?:übersetz|korrigier|lektorier)\w{0,3}\b|\bfass\w{0,2}\b.{1,60}\bzusammen\b|\bformulier\w{0,2}\b.{1,60}\bum\b"
    "|总结一?下|概括|(?:通知|文章|邮件|消息|网页|文档|段话)[：:]"
    "|翻译|润色|改写|总结(?:一下|下)?.{0,8}(?:以下|下面|这)|校对|下面这[段封篇条]|以下是)",
    re.IGNORECASE,
)
_PLAY: Final = regex(
    r"(?:(?:please |can you |could you )*act as|(?:from now on,? )?you are (?:an?|the|now)\b|you will (?:be|act)"
    r"|pretend|imagine|let's"
    r" (?:play|role-?play)|role-?play|i want you to (?:act|play|pretend)"
    r"|(?:please |can you |could you |now )*(?:write|compose|draft|invent|tell) (?:me )?(?:a|an|the"
    r"|another) (?:[\w-]+ ){0,4}"
    r"(?:story|poem|essay|dialogue|scene|song|letter|speech|script|blog|article|limerick|haiku|fairy ?tale|sonnet"
    r"|ballad|sketch)\b"
    "|假设你|假装|扮演|你是一[个名位]|写一[篇首封])",
    re.IGNORECASE,
)
_INVENTED: Final = regex(
    r"\b(?:my|the|our|a|main) (?:main |fictional |first |second )?(?:character|protagonist|antagonist|hero|heroine"
    r"|villain|narrator)s?\b(?! (?:set|limit|count|encoding|class)\b)|\b(?:hauptfigur|held meines romans)\b|主角"
    r"|\bin (?:my|the|our) (?:story|novel|game|screenplay|book),"
    r"|\bin (?:my|the|our) (?:[\w&-]+ ){0,2}campaign,"
    r"|\bin (?:my|the|our|a|this) (?:[\w-]+ ){0,2}(?:story|novel|screenplay|book|comic|sitcom|film|movie)"
    r"(?: (?:that |which )?(?:i|we)(?:'m|'re|'ve| am| are| have| want| wrote| read| saw| watched)\b"
    r"|,? (?:my|her|his|their) (?:character|hero|heroine)\b)"
    r"|\bin (?:meinem|unserem|dem|einem) (?:[\wäöüß-]+ ){0,2}(?:roman|drehbuch|buch|film|theaterstück|krimi|märchen"
    r"|comic|hörspiel)\b|(?:小说|剧本|故事|电影|漫画)(?:里|中)"
    r"|\bonce upon a time\b",
    re.IGNORECASE,
)
_LETTER: Final = regex(
    r"(?:Dear|To whom it may concern|Sehr geehrte|Liebe[rs]?|Subject:|Betreff:|From:|Von:|Sent:|To:"
    r"|【)(?=[ A-ZÄÖÜ\u4e00-\u9fff])"
)

_HEADER: Final = regex(r"(?:From|Von|Sent|Gesendet|To|An|Subject|Betreff|Cc|发件人|收件人|主题)\s?[:：]\s*\S")


# ---------------------------------------------------------------- pasted mail

_GREETING: Final = regex(
    r"\s*(?:(?:hi|hello|hey|dear|hallo|liebe[rs]?|guten (?:tag|morgen)|moin|servus|sehr geehrte[rs]?|good (?:morning"
    r"|afternoon))\b[^.?!:\n]{0,40}[,!–-]?|(?:各位|大家好|你好|您好|.{1,8}(?:你好|您好))[^。\n]{0,10}[，,：:！!]?)\s*\Z",
    re.IGNORECASE,
)
_SIGNED: Final = regex(
    r"\s*(?:--|(?:best|kind|warm|many thanks|thanks|thank you|thx|cheers|regards|sincerely|all the best|viele grüße"
    r"|liebe grüße|beste grüße|schöne grüße|mit freundlichen|grüße|gruß|lg|vg|mfg|danke und gruß|谢谢|此致|祝好)"
    r"\b[^.?\n]{0,30})\s*\Z",
    re.IGNORECASE,
)
_HANDED_OVER: Final = regex(
    r"\b(?:e-?mails?|slack|teams|chat|wrote|writes|forward(?:ed)?|fwd|nachricht|schreibt|schrieb|geschrieben|minutes"
    r"|protokoll|transcript|letter|discord|irc|matrix)\b|邮件|消息|群里|聊天|留言|纪要",
    re.IGNORECASE,
)
_HANDED_WITH_COLON: Final = regex(
    r"\b(?:message|thread|ticket|issue|comments?|says|said|sagt|meint|reviews?|feedback|from \w+|von \w+|post|article"
    r"|readme|docs?|artikel|kommentare?)\b[^:：]{0,60}[:：]\s*\Z|(?:说|反馈|评论|意见|工单)[^:：]{0,20}[:：]\s*\Z",
    re.IGNORECASE,
)
MIN_PASTED: Final = 2
"""Lines behind what announces a mail from which on they are one."""

MAX_SIGNATURE: Final = 60
"""Characters of a line below the end of a mail that belongs to it."""


def without_mail(content: str) -> tuple[str, str]:
    """Return a message without the mails that are pasted into it, and these: from a header, a greeting behind other
    lines, or what announces them, to the signature, without one to the end. Linear time."""
    lines = content.splitlines()
    own: list[str] = []
    others: list[str] = []
    state = "own"
    for at, line in enumerate(lines):
        if state == "signed" and (not line.strip() or len(line) > MAX_SIGNATURE):
            state = "own"
        if state == "own" and _announces(lines, at):
            own.append(line)
            state = "mail"
            continue
        if state == "own" and (_HEADER.match(line) or (at and _GREETING.match(line))):
            state = "mail"
        elif state == "mail" and _SIGNED.match(line):
            state = "signed"
        (own if state == "own" else others).append(line)
    return ("\n".join(own), "\n".join(others)) if others else (content, "")


def _announces(lines: Sequence[str], at: int) -> bool:
    """Return True if a line says that what follows it was written by somebody else."""
    line, rest = lines[at][:MAX_SENTENCE], lines[at + 1 : at + 1 + MIN_PASTED]
    if not line.strip() or not any(each.strip() for each in rest):
        return False
    ends = line.rstrip().endswith((":", "："))
    is_block = len(lines) - at > MIN_PASTED and not lines[at + 1].strip()
    return (ends or is_block) and (
        _HANDED_OVER.search(line) is not None or (ends and _HANDED_WITH_COLON.search(line) is not None)
    )


class Authored(NamedTuple):
    """The sentences that are the person's own, and the other parts with the reason why each is left out."""

    own: list[Sentence]
    left_out: list[tuple[str, str]]


def own_sentences(sentences: Sequence[Sentence]) -> Authored:
    """The sentences that the writer of a message says in their own name.

    None of a game; none from an invented character on; none of a text that is handed over; of a long message the
    beginning and the end.
    """
    if sentences and _PLAY.match(sentences[0].text[:MAX_SENTENCE]):
        return Authored([], [(_joined(sentences), "role")])
    own: list[Sentence] = []
    others: list[tuple[str, str]] = []
    at = 0
    while at < len(sentences):
        end, reason = _handed(sentences, at) if at < LONG_MESSAGE else (at, "")
        if end > at:
            others.append((_joined(sentences[at:end]), reason))
            at = end
        else:
            own.append(sentences[at])
            at += 1
    if len(own) > LONG_MESSAGE:
        others.append((_joined(own[OWN:-OWN]), "pasted"))
        own = [*own[:OWN], *own[-OWN:]]
    return Authored(own, others)


def _handed(sentences: Sequence[Sentence], at: int) -> tuple[int, str]:
    """The end of a part that begins at `at` and is not the writer's own, and its kind; `at` if there is none."""
    text = sentences[at].text[:MAX_SENTENCE]
    if _INVENTED.search(text):
        return len(sentences), "role"
    if (end := _quote_end(sentences, at)) > at:
        return end, "quote"
    if at and _LETTER.match(text) and sentences[at - 1].group != sentences[at].group:
        return len(sentences), "quote"
    before = sentences[at - 1] if at else None
    if before is None or not _WORK_ON_TEXT.search(before.text[:MAX_SENTENCE]) or text[:1] in _MARKS:
        return at, ""
    return (len(sentences), "quote") if _is_handed(before, sentences[at]) else (at, "")


_MARKS: Final = tuple("\"“„«'‘「『")
_CLOSING: Final = {'"': '"', "“": "”", "„": "“”", "«": "»", "‘": "’", "「": "」", "『": "』"}
MAX_QUOTED: Final = 60
"""Sentences of a quotation over several lines."""


def _quote_end(sentences: Sequence[Sentence], at: int) -> int:
    """The end of a quotation that begins with sentence `at` and ends with a later one; `at` if none does."""
    closing = _CLOSING.get(sentences[at].text[:1])
    if closing is None or any(mark in sentences[at].text[1:] for mark in closing):
        return at
    for end in range(at + 1, min(len(sentences), at + MAX_QUOTED)):
        if sentences[end].text.rstrip(" .!?")[-1:] in closing:
            return end + 1
    return at


def _joined(sentences: Sequence[Sentence]) -> str:
    return " ".join(each.text for each in sentences)


def _is_handed(request: Sentence, following: Sentence) -> bool:
    """Return True if `following` is the text of `request`: behind a colon, or in a paragraph of its own."""
    return ":" in request.text or "：" in request.text or following.group != request.group
