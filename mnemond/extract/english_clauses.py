"""An English sentence in its clauses: without what leads up to it, cut where a new subject has its own verb."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mnemond.extract.english_grammar import AUXILIARIES, Word, begins_clause, grammar, words_in
from mnemond.text.resources import regex

# ---------------------------------------------------------------- spelling

_APOSTROPHES: Final = regex(
    r"\b(?:(?P<not>do|does|did|is|are|was|were|has|have|had|wo|ca|would|could|should)nt"
    r"|(?P<i>i)(?P<verb>m|ve)|(?P<own>you|we|they)(?P<are>ve)"
    r"|(?P<thats>that|what|it)s(?= (?:a|an|the|not|my|our|why|only|just|used|written|by|now|in|on)\b))\b",
    re.IGNORECASE,
)


def spelled(sentence: str) -> str:
    """`sentence` on one line, with straight apostrophes, also where they were left out: "dont", "im"."""
    plain = " ".join(sentence.replace("’", "'").split())
    return _CONTRACTED.sub(_written_out, _APOSTROPHES.sub(_with_apostrophe, plain))


_CONTRACTED: Final = regex(r"\b(?:(?P<will>gonna)|(?P<wish>wanna)|(?P<must>gotta))\b", re.IGNORECASE)


def _written_out(found: re.Match[str]) -> str:
    return "going to" if found["will"] else "want to" if found["wish"] else "have to"


def _with_apostrophe(found: re.Match[str]) -> str:
    if found["not"]:
        return f"{found['not']}n't"
    if found["i"]:
        return f"{found['i']}'{found['verb']}"
    return f"{found['own']}'{found['are']}" if found["own"] else f"{found['thats']}'s"


# ---------------------------------------------------------------- what leads up to a sentence

_OPENING: Final = regex(
    r"(?:\(?\d{1,2}\)\s+|(?:btw|by the way|fyi|anyway|lol|haha|hey|hi|hello|oh|ah|ps|nb)[,.:;!–—-]*\s+(?=\S)"
    r"|(?:ok(?:ay)?|yes|yeah|yep|yup|ya|no|nope|nah|well|so|and|but|also|oh|ah|aha|hey|hi|hello|btw|by the way|fyi"
    r"|actually|(?:actually )?(?:wait|hold on|hang on)"
    r"|sorry|thanks(?: (?:a lot|so much))?|thank you(?: (?:so|very) much)?|thx|cheers|sure|right|great|lovely|lol"
    r"|haha|hm+|ha"
    r"|cool|perfect|wait|nice|please|plus|anyway|anyhow|again|besides|however|then|good to know|some background|indeed"
    r"|background|(?:some |quick |a bit of |more )?context|for context|honestly|to be honest|tbh|frankly|incidentally"
    r"|for the record|just so you know|so you know|heads[- ]up|got it|makes sense|one more thing|another thing"
    r"|also note"
    r"|important(?: note)?|note|reminder|tip|p\.?s|update|quick update|small update|correction|small correction"
    r"|one correction"
    r"|that's wrong|that is wrong|(?:that's|that is) (?:not (?:quite )?(?:right|correct|true)|outdated|incorrect|old)"
    r"|wrong"
    r"|not quite|not exactly|not any ?more|in short|basically|to be clear|for your information|for information"
    r"|in fact|oops|argh"
    r"|hey so long story|long story(?: short)?|so long story|good (?:morning|evening|afternoon)|morning|hi there"
    r"|hey there"
    r"|forget (?:it|that)|never mind|as (?:i said|said|mentioned)|by the by|on another note|side note|small thing"
    r"|quick one"
    r"|first(?: of all)?|second(?:ly)?|finally|lastly|last thing|true|exactly|agreed|correct|good point|fair enough"
    r"|of course"
    r"|in addition|additionally|moreover|furthermore|unfortunately|luckily|fortunately|sadly|let's see|you see|look"
    r"|listen"
    r"|i (?:must|should) (?:say|add|mention)(?: that)?|for (?:the|your) (?:minutes|notes|memory)|new info|news"
    r"|more info"
    r"|i (?:was|got that) wrong|i (?:made a mistake|misspoke)|my mistake|my bad|in real life|irl|seriously|turns out)"
    r"(?:[,.:;!–—-]+\s*|\s+(?=(?:i|we|let's|my|our|the|all|always|never|don't|do not|use|can|could|that|it|what|how"
    r"|he|she|they"
    r"|why|please|just|from|basically|but|and|so|also|now|btw|remember|note|in|on|for|whenever|every|i'm|we're|i've"
    r"|we've|it's|he's"
    r"|she's|before|by)\b)"
    r"|\s*\Z))+",
    re.IGNORECASE,
)
_REMINDER: Final = regex(
    r"(?:please )?(?:(?:remember|note|keep in mind|bear in mind|be aware|mind|don't forget|do not forget|fyi|know"
    r"|mark)(?:"
    r" that|,|:|(?= the\b|(?= we\b)))"
    r"|(?:it's|it is) (?:important|worth knowing|worth noting|crucial|essential) (?:that|to know that)|i want you to"
    r" (?:know|remember) that|(?:please )?(?:make a )?note (?:that|:)"
    r"|(?:did i (?:mention|tell you)|have i told you|i forgot to (?:say|mention)|i should mention|let me add)(?: that"
    r"|:)"
    r"|you (?:should|need to|ought to|must) know(?: that|:)|what you (?:should|need to|must) know:?"
    r"|just so you know that) ?",
    re.IGNORECASE,
)


class Lead(NamedTuple):
    """A sentence without what leads up to it, that, and True if its speaker wants it to be remembered."""

    rest: str
    lead: str
    reminded: bool


def without_lead(sentence: str) -> Lead:
    """`sentence` without "ok, so", "by the way," and without "remember that"."""
    rest = _without_opening(sentence)
    found = _REMINDER.match(rest)
    if found is not None:
        rest = _without_opening(rest[found.end() :].strip())
    return Lead(
        rest, sentence[: len(sentence) - len(rest)].strip() if sentence.endswith(rest) else "", found is not None
    )


def _without_opening(sentence: str) -> str:
    found = _OPENING.match(sentence)
    rest = sentence[found.end() :] if found else sentence
    return rest if rest.strip(" .!") else sentence


# ---------------------------------------------------------------- questions

_QUESTION: Final = regex(
    r"(?:(?:and|but|so|then|also|ok|well|now)[, ]+)*"
    r"(?:(?:can|could|would|will|do|does|did|is|are|was|were|should|shall|may|have|has|am) (?:you|i|we|it|he|she|they"
    r"|this|that|these|those|there|the|my|our|your|anyone|somebody)\b"
    r"|(?:what|why|how|who|whose|which|where)\b(?! (?:matters|works|we|i) )|(?:at|in|on|for|to|with|by|from) (?:what"
    r"|which|whom)\b"
    r"|when (?:do|does|did|is|are|was|will|should|can)\b|any (?:idea|chance|thoughts|way|hint|tips?|advice"
    r"|suggestions?)"
    r"|is there|are there|isn't|aren't|don't you|won't (?:you|it|they|that)|what's|how's|where's|who's|why's)",
    re.IGNORECASE,
)


def is_question(sentence: str) -> bool:
    """True for a question, with a question mark or without."""
    return sentence.rstrip("\"'”’) ").endswith(("?", "？")) or _QUESTION.match(sentence) is not None


# ---------------------------------------------------------------- clauses

_SEAM: Final = regex(
    r"\s*(?:[,;:]|\.{2,}|…|\s[–—-]{1,2}(?=\s))\s*(?:(?:and|but|so|or|then|yet|plus|while|whereas)\s+)?"
    r"|\s(?:and|but|so|plus|while|whereas|&)\s+",
    re.IGNORECASE,
)
_ASKS: Final = regex(
    r"(?:(?:please|just)\s+)*(?:can|could|would|will|should|shall|do|does|did|is|are) (?:you|i|we|it|he|she|they"
    r"|there|that|this"
    r"|the|my|our)\b|(?:what|how|why|which|who|where)(?:'s|'re)?\b(?! (?:matters|works)\b)|when (?:do|does|did|is|are"
    r"|was|will"
    r"|should|can)\b|any (?:idea|chance|thoughts|tips?|hint|way|advice|suggestions?)\b|(?:please|pls|kindly)\b"
    r"|let me\b|help me\b"
    r"|right\?|ok(?:ay)?\?|no\?|yes\?|isn't it\b|don't you\b|aren't (?:they|we)\b",
    re.IGNORECASE,
)
_SUBORDINATE: Final = regex(
    r"(?:(?:and|but|so|then|also|please)\s+)*(?:if|when|whenever|because|since|while|although|though|unless|until"
    r"|once|before|after"
    r"|as (?:soon|long)|every time|each time|in case|given that|assuming|suppose|supposing)\b",
    re.IGNORECASE,
)
_ADDED: Final = regex(r"(?:and|but|so|or|then|yet|plus|while|whereas|&|[,;:–—-]|\.{2,}|…|\s)+", re.IGNORECASE)


_RULED: Final = regex(
    r"(?:from now on|in (?:the )?future|going forward|always|never|please|by default),? ", re.IGNORECASE
)


class Part(NamedTuple):
    """A clause, its place in the sentence, and the words before it that join it to the others."""

    text: str
    start: int
    end: int


def clauses(sentence: str) -> list[Part]:
    """The clauses of `sentence` in order, which cover it but for what joins them."""
    words = words_in(sentence)
    places = {word.start: at for at, word in enumerate(words)}
    starts, ends = [0], []
    for seam in _SEAM.finditer(sentence):
        begin = seam.end()
        if begin <= starts[-1] or begin >= len(sentence) or begin not in places:
            continue
        at = places[begin]
        if not _opens(sentence, words, at, begin, seam[0]) or _is_condition(
            sentence[starts[-1] : seam.start()], seam[0]
        ):
            continue
        if _is_whole(sentence[starts[-1] : seam.start()], seam[0], order=_is_order(words, at)):
            ends.append(seam.start())
            starts.append(begin)
    ends.append(len(sentence))
    return [Part(sentence[start:end].strip(), start, end) for start, end in zip(starts, ends, strict=True)]


_WHERE: Final = regex(r"\b(?:where|whose|in which|such that|so that|when|if)\b", re.IGNORECASE)


def _is_condition(before: str, seam: str) -> bool:
    """True if a plain "and" goes on with what an order asks for: "add a test where the name is empty and the age 4"."""
    return seam.strip() in ("and", "&") and _WHERE.search(before) is not None and _is_order(words_in(before.lower()), 0)


def _opens(sentence: str, words: list[Word], at: int, begin: int, seam: str) -> bool:
    """True if a clause of its own begins with the word at `at`."""
    if _ASKS.match(sentence, begin):
        relative = words[at].small in ("which", "who", "whose", "where") and seam.strip() == ","
        return not relative or sentence.endswith("?")
    marked = seam.strip(" ")[:1] in tuple(",;:–—-.…") and seam.strip() != ""
    if marked and _is_switch(words, at):
        return True
    if _is_order(words, at):
        return marked or "but" in seam
    return (_is_subject(words, at) and begins_clause(words, at)) or (marked and _is_led(words, at))


def _is_switch(words: list[Word], at: int) -> bool:
    """True for a change whose subject was named before: ", switched to bouldering"."""
    lists = grammar()
    following = words[at + 1].small if at + 1 < len(words) else ""
    changed = words[at].small in lists.past and lists.past[words[at].small] in lists.changes
    return changed and following in ("to", "from", "over", "into", "back")


def _is_led(words: list[Word], at: int) -> bool:
    """True for a subject with its verb behind a word that leads up to it: "now", "luckily", "in May"."""
    lists = grammar()
    if words[at].small not in lists.leading and words[at].small != "not":
        return False
    for place in range(at + 1, min(at + 4, len(words))):
        if words[place].small.split("'")[0] in ("i", "we", "he", "she", "they", "it", "my", "our") and begins_clause(
            words, place
        ):
            return words[place - 1].small not in ("because", "since", "as", "if", "that", "when")
    return False


def _is_subject(words: list[Word], at: int) -> bool:
    small = words[at].small
    lists = grammar()
    if small in lists.subordinators or small in lists.prepositions or small in AUXILIARIES:
        return False
    return (small not in ("which", "who", "whose", "that") or "'" in small) and not (
        small.isdigit() and not _is_verb_next(words, at)
    )


def _is_verb_next(words: list[Word], at: int) -> bool:
    """True for a number that is a subject: "443 belongs to the proxy"."""
    following = words[at + 1].small if at + 1 < len(words) else ""
    return following in AUXILIARIES or following in grammar().singular


def _is_order(words: list[Word], at: int) -> bool:
    """True if the word is a verb of a request, and no verb of a subject follows."""
    if at >= len(words):
        return False
    small, lists = words[at].small, grammar()
    if small in ("always", "never"):
        # "he only reads texts, never email" and "on Wednesdays, never right before a holiday" are one clause
        following = words[at + 1].small if at + 2 < len(words) else ""
        return following not in lists.prepositions | {"", "right", "just", "only", "really"}
    if small in ("don't", "stop", "let's", "just", "please", "forget"):
        return at + 1 < len(words)
    return small in lists.bases and words[at].text[0].islower() and not begins_clause(words, at) and at + 1 < len(words)


def _is_whole(before: str, seam: str, *, order: bool) -> bool:
    """True if the part before a seam can stand alone: it has a verb, or it is an aside; "if …," has to be continued."""
    bare = _ADDED.match(before)
    text = before[bare.end() :] if bare else before
    if _SUBORDINATE.match(text) and "," in seam and not any(mark in text for mark in ";."):
        return _has_main_clause(text)
    words = words_in(text)
    if not words:
        return False
    ruled = _RULED.match(text)
    if ruled is not None and _is_order(words_in(text[ruled.end() :]), 0):
        return True
    if any(begins_clause(words, at) for at in range(min(4, len(words)))) or _is_order(words, 0) or _ASKS.match(text):
        return True
    if seam.strip()[:1] in (";", ":", "–", "—", "-", ".", "…"):
        return True
    return seam.strip() in (",", ", and", ", but", ", so") and _is_remark(words, order=order)


def _is_remark(words: list[Word], *, order: bool) -> bool:
    """True for words before a comma that are no part of the next clause: "won't work", "great idea"; before an order
    they must not be its subject: "our kids, Leo and Mina, finish"."""
    lists = grammar()
    if order and (words[0].small in lists.determiners or words[0].text[:1].isupper()):
        return False
    if words[0].small in AUXILIARIES:
        return True
    return not (
        words[0].small in lists.leading or words[0].small in lists.prepositions or words[0].small in lists.subordinators
    )


def _has_main_clause(text: str) -> bool:
    """True if behind the subordinate clause at the beginning the main one has already begun."""
    words = words_in(text.partition(",")[2])
    return begins_clause(words, 0)
