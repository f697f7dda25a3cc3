"""What a sentence must not be: a question, a request, a courtesy, a word about the moment or about something shown."""

from __future__ import annotations

import re
from typing import Final

from mnemond.text.cue_words import words_of
from mnemond.text.substance import COURTESY_TOKENS
from mnemond.text.tokens import tokens

LEAST_TOKENS: Final = 2
"""Content words of a sentence that says anything."""

_OPENING: Final = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yeah|yep|no|nope|well|so|and|but|also|oh|hey|hi|hello|btw|by the way|fyi|actually|sorry"
    r"|thanks|thank you|sure|right|great"
    r"|cool|perfect|hmm|wait|nice|please|plus|anyway|anyhow|ah|again|besides|however|then|good to know|some background"
    r"|background|for context|context"
    r"|for the record|just so you know|heads[- ]up|got it|makes sense|one more thing|also note|important|note"
    r"|important note|reminder|tip|p\.?s"
    r"|that's wrong|that is wrong|wrong|not quite|not exactly|in short|basically|to be clear|for your information|for"
    r" information|in fact)"
    r"(?:[,.:;!–—-]+\s*|\s+(?=(?:i|we|let's|my|our|the|all|always|never|don't|do not|use|can|could|that|it|what|how"
    r"|why|please|just|from|basically)\b)|\s*\Z))+",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(
    r"(?:please )?(?:(?:remember|note|keep in mind|bear in mind|be aware|mind|don't forget|do not forget|fyi|know)(?:"
    r" that|,|:|(?= the\b|(?= we\b)))"
    r"|(?:it's|it is) (?:important|worth knowing|worth noting|crucial|essential) (?:that|to know that)|i want you to"
    r" (?:know|remember) that"
    r"|you should know that) ?",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(
    r"(?:(?:can|could|would|will|do|does|did|is|are|was|were|should|shall|may|have|has|am) (?:you|i|we|it|he|she|they"
    r"|this|that|these|those|there|the|my|our|anyone|somebody)\b"
    r"|(?:what|why|how|who|whose|which|where)\b(?! (?:matters|works|we|i) )|when (?:do|does|did|is|are|was|will|should"
    r"|can)\b|any (?:idea|chance|thoughts|way|hint)"
    r"|is there|are there|isn't|aren't|don't you|won't|what's|how's|where's|who's|why's)",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(
    r"(?:i|we)(?:'d| would) (?:like|love|appreciate)\b|i want (?:to|you|it|this|that|the|a|an)\b|i (?:need|have)"
    r" (?:you|to|a|an|the|it|this|that|some|help)\b"
    r"|we (?:need|have|ought) to\b|we should\b|you (?:should|can|could|may|might|must|need"
    r"|have)\b(?!.{0,12}\b(?:always|never)\b)"
    r"|i(?:'m| am) (?:trying|getting|seeing|looking|wondering|not sure|torn|stuck|confused|thinking|going to|about to"
    r"|curious|done|back|new|sure|afraid|happy|glad|sorry|ready|working on)\b"
    r"|i (?:think|guess|wonder|suppose|believe|assume|was wondering|just|tried|see|saw|get|got|ran|merged|pushed|meant"
    r"|mean|know|don't know|can't|cannot|don't think|hope|noticed|thought)\b"
    r"|(?:i'll|i will|we'll) (?!use|go with|stick|switch|not use|be (?:on|in|at|away|out|off)\b)\w+|let me\b|help me\b"
    r"|if (?:you|i|we|it|that|this"
    r"|the|there)\b|maybe\b|perhaps\b|not sure\b|feel free\b|sounds?\b|looks?\b|seems?\b"
    r"|what if\b|how about\b|instead\b|unless\b|until\b|once you\b|when you(?:'re| are)?\b|after you\b|as you\b"
    r"|thanks\b",
    re.IGNORECASE,
)
_ORDERS: Final = words_of(
    "fix add make check run update create write remove delete rename refactor implement change move split",
    "merge rebase commit push open close look find search show tell explain give help try build test deploy",
    "install set turn convert translate format review read generate draft document clean replace use keep stop",
    "start continue go do put get see investigate debug analyze analyse optimise optimize improve extend",
    "ensure verify confirm list print log undo revert restore rewrite reformat simplify extract inline bump",
    "upgrade downgrade configure enable disable apply copy download upload send post call import export parse",
    "handle return raise throw catch wrap mock skip ignore include exclude drop insert append prepend sort",
    "filter group count compare compute calculate plot draw design plan propose suggest summarise summarize",
    "describe proceed wait rerun retry repeat finish complete double-check take bring pull fetch sync port",
    "migrate switch separate combine rework ship tag release publish adjust tweak tidy just only first next",
    "now then let ask pick choose leave avoid reduce increase link expand shorten restart kill reset execute",
    "scan inspect trace cut paste mark start provide consider reply answer respond stick hold think imagine",
    "assume pretend act follow rework spin hook wire swap strip trim lint type annotate cover assert validate",
    "don't do",
)
_STATES: Final = re.compile(
    r"\S+ (?:is|are|was|were|has|have|had|must|runs?|lives?|uses?|will|goes|go out|can|cannot)\b", re.IGNORECASE
)
_POINTING: Final = re.compile(
    r"\b(?:see (?:above|below)|the above|the following|as follows|as above|shown (?:above|below)|below is|listed below"
    r"|attached|this (?:function|test|file|class|method"
    r"|line|error|code|bug|issue|one|snippet|output|log|message|change|pr|commit|diff|branch|query|variable|approach"
    r"|thing|stuff|case|part|script|page)"
    r"|that (?:function|test|file|class|method|line|error|bug|one|approach|way|thing)|these (?:files|tests|lines"
    r"|errors|changes)|the (?:same|latter|former) (?:one|way)?)\b",
    re.IGNORECASE,
)
_OBJECTLESS: Final = re.compile(
    r"(?:i|we)(?:'ve|'m|'re|'d|'ll)? (?:[\w']+ ){1,4}?(?:it|them|him|her|this|these|those|this one)(?= (?:is|was|at|in"
    r"|on|to|into|for|with|because|from|about|over|an?|as|and"
    r"|but|so|since|when|if|almost|non-stop|back|again|up|out|every|by|under|last|yesterday|the)\b|[.,;!]|\Z)",
    re.IGNORECASE,
)
_MOMENT: Final = re.compile(
    r"\b(?:for now|right now|just now|at the moment|for the moment|for this (?:pr|commit|branch|task|file|test|one"
    r"|change|ticket|release|time)|this time|just this once|yet"
    r"|temporarily|so far|in progress|still (?:failing|broken|running)|(?:is|are) (?:failing|running now|broken)|done"
    r"|before you (?:finish|start|commit)|when you're done)\b",
    re.IGNORECASE,
)
_EXCLAIMED: Final = re.compile(r"!{2,}|\b(?:wtf|damn|ugh|argh)\b", re.IGNORECASE)


def stripped(sentence: str) -> str:
    """`sentence` without the words that lead up to it: "ok, so", "by the way,"."""
    found = _OPENING.match(sentence)
    rest = sentence[found.end() :] if found else sentence
    return rest if rest.strip(" .!") else sentence


def told(sentence: str) -> tuple[str, bool]:
    """`sentence` without "remember that" and the like, and whether it had that."""
    found = _CALLED.match(sentence)
    return (sentence[found.end() :].strip(), True) if found else (sentence, False)


def is_question(sentence: str) -> bool:
    """Whether it asks, with a question mark or without."""
    return sentence.rstrip("\"'”’) ").endswith(("?", "？")) or _QUESTION.match(sentence) is not None


def is_courtesy(sentence: str) -> bool:
    """Whether it says nothing but hello, thanks or yes."""
    return set(tokens(sentence)) <= COURTESY_TOKENS


def is_short(sentence: str) -> bool:
    """Whether it has too few words to say anything."""
    return len(tokens(sentence)) < LEAST_TOKENS


def is_request(sentence: str) -> bool:
    """Whether it wants something done, or says what its speaker is doing: nothing that lasts."""
    if _REQUEST.match(sentence) is not None:
        return True
    first = sentence.split(maxsplit=1)[0].lower().strip(",.:;!") if sentence.strip() else ""
    return first in _ORDERS and _STATES.match(sentence) is None


def points_elsewhere(sentence: str) -> bool:
    """Whether it can be understood only beside something that is shown."""
    return _POINTING.search(sentence) is not None


def lacks_object(sentence: str) -> bool:
    """Whether its speaker does something with "it", which is not said what it is: "I bought it in May"."""
    return _OBJECTLESS.match(sentence) is not None


def is_of_the_moment(sentence: str) -> bool:
    """Whether it holds for now, or for one task."""
    return _MOMENT.search(sentence) is not None or _EXCLAIMED.search(sentence) is not None
