"""What sentences are worth remembering, by family of pattern (spec 9): English, from a person and from an agent.

All expressions are over a sentence of at most `LONGEST` characters with straight apostrophes. Those that begin with a
place to stand (`\\A`, or a word) are tried there only, so that none takes longer than the square of that length.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mnemond.extract.facts import Intent
from mnemond.text.quality import courtesy_tokens
from mnemond.text.resources import regex, words_of
from mnemond.text.tokens import tokens

LONGEST: Final = 400
"""Characters of a sentence; a longer one is no statement but a text."""


class Family(msgspec.Struct, frozen=True):
    """A kind of statement. `confidence`: how often what it finds is worth keeping, by the labelled exchanges, rounded.
    `referring`: whether a sentence must name something: a thing, a number, a date. `by_agent`: whether an agent's word
    is taken for it."""

    name: str
    intent: Intent
    category: str
    pattern: re.Pattern[str]
    confidence: float
    referring: bool = False
    by_agent: bool = False


def _whole(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.IGNORECASE)


_WHEN = (
    r"(?:(?:yesterday|today|recently|earlier|meanwhile|eventually|finally|(?:last|this|next) \w+|in \w+(?: \d{4})?|on"
    r" \w+(?: \d+)?"
    r"|(?:\w+|\d+) \w+ ago|for (?:the|our) [\w ]{2,40}?|after [\w ]{2,40}?)\s?,?\s)?"
)
"""A time or a place before the subject."""

_ADVERBS = (
    r"(?:(?:really|always|usually|generally|normally|typically|often|never|mostly|personally|strongly|also|still|just"
    r"|only|now"
    r"|definitely|already|recently|finally|absolutely|both|all|much|actually|currently|don't|do not|have|has|had)"
    r" ){0,3}"
)
_NAME = r"(?-i:[A-Z][\w.&-]*(?: (?:[A-Z][\w.&-]*|\d+)){0,3})"
_PERSON = rf"(?:i|we|{_NAME}|(?:the|our|my) (?:team|company|client|boss|manager|lead))"
_VAGUE = (
    r"(?:it|this|that|these|those|them|they|him|her|you|your?|so|there|one|seeing|how|what|when|the (?:first|second"
    r"|other))"
)

_REACTION = (
    r"(?:(?:the|an?) (?:[\w-]+ ){0,2}?(?:idea|sound|look|looks|suggestion|concept|thought|approach|way|fact|direction"
    r"|plan)\b|the\b|where\b|both\b|option\b)"
)
"""What is liked about an answer that was just given says nothing of anybody's taste."""

PREFERENCE: Final = Family(
    "preference", "preference", "preference",
    _whole(
        rf"\A{_WHEN}(?:(?:(?:i|we) {_ADVERBS}(?:prefer|like|love|hate|dislike|enjoy|favou?r|can't stand|cannot stand"
        rf"|want all|want every"
        r"|am (?:a (?:big )?fan of|used to|allergic to))"
        rf"|(?:{_NAME}|(?:the|our|my) [\w-]+) {_ADVERBS}(?:prefers|likes|loves|hates|dislikes|enjoys))\b"
        rf"(?! {_VAGUE}\b)(?! {_REACTION})(?! ?[.!,;]|\Z)"
        rf"|i'm (?:a (?:big )?fan of|used to|allergic to)\b(?! {_VAGUE}\b)"
        rf"|(?:i'd|i would|we'd|we would) (?:rather|prefer)\b(?! {_VAGUE}\b)"
        r"|(?:my|our) (?:favou?rite|preferred|default|usual|go-to) [\w ]{2,40}? (?:is|are)\b"
        rf"|(?:i|we) (?:always|usually|normally|typically|generally|never|rarely|mostly) (?!mind|know|said|thought"
        rf"|want|see\b|struggl|wonder|wanted|been\b|had\b|just\b|agree)"
        rf"[a-z]{{2,20}}\b(?! {_VAGUE}\b))"
    ),
    .9,
)  # fmt: skip

_ROLE = (
    r"(?:an?|the) (?!(?:bit|little|lot|few|big fan|fan|while|mess|good|bad|bug|problem|issue|test|way|moment|hurry"
    r"|reason|same|"
    r"one|only|last|first|next|error|new|different|huge|great|case)\b)[\w -]{2,60}"
)
IDENTITY: Final = Family(
    "identity", "relationship", "fact",
    _whole(
        rf"\A{_WHEN}(?:(?:i|we) {_ADVERBS}(?:work(?:ed|s|ing)? (?:at|for|as|in|remotely|from)|live in|lives in|was"
        rf" born|speak|come from"
        rf"|started (?:at|as)|joined (?=(?-i:[A-Z]))|study|studied|teach|graduated|drive|own|manage|maintain|lead"
        rf"|report"
        rf" to)\b(?!"
        rf" {_VAGUE}\b)"
        rf"|i {_ADVERBS}moved to (?-i:[A-Z])"
        rf"|(?:i'm|i am) (?:{_ROLE}|from (?!the\b)[\w ]+|based in|located in|responsible for|in charge of|married"
        rf"|vegetarian|vegan"
        r"|colou?r[- ]?blind|left-handed|\d\d years old|living in|working (?:at|for|as))\b"
        r"|(?:i have|i've got) (?:a|an|two|three|four|\d+) (?:dog|cat|son|daughter|kid|child|brother|sister|year)\w*"
        r"|my (?:name|time ?zone|email|e-mail|handle|username|pronouns|birthday|wife|husband|partner|son|daughter"
        r"|kids?|boss|manager"
        r"|team|job|role|company|employer|machine|laptop|computer|editor|ide|shell|terminal|os|operating system"
        r"|keyboard|hometown"
        r"|native language|first language|github|account|domain|website|blog|phone|cat|dog|brother|sister)\b(?! and"
        r" i\b)[\w ,'-]{0,40}?"
        r" (?:is|are|was|were|runs|has|works|lives|uses|starts|ends)\b(?! (?:so\b|sick|ill\b|busy|here\b|away|late"
        r"|asking|waiting|tired|broken|slow|down|not working|failing"
        r"|stuck|gone)\b))"
    ),
    .9,
)  # fmt: skip

ENVIRONMENT: Final = Family(
    "identity", "relationship", "fact",
    _whole(
        rf"\A{_WHEN}(?:(?:i|we) {_ADVERBS}use\b(?! {_VAGUE}\b)"
        rf"|(?:i'm|i am|we're|we are) (?:still |currently )?on (?!(?:it|call|holiday|vacation|the|a|my|board|top|track"
        rf"|that|this|leave|main|cloud)\b)"
        r"[\w .]{2,30}"
        rf"|(?:i've|i have|we've|we have) been (?:working (?:at|for|with|as)|living|using|programming|writing)\b(?!"
        rf" {_VAGUE}\b))"
    ),
    .85, referring=True,
)  # fmt: skip
"""What somebody works with, by name."""

_CHOSE = (
    r"(?:decided|chose|have chosen|picked|selected|agreed|settled on|opted for|adopted|switched (?:\w+ ){0,5}?(?:from"
    r"|to)|migrated"
    r" (?:\w+ ){0,5}?(?:from|to)|moved (?:\w+ ){0,4}?(?:away |over )?(?:from|to)|replaced|dropped|standardi[sz]ed on"
    r"|went with"
    r"|committed to|rejected|ruled out|deprecated|abandoned|got rid of|stopped using|started using)"
)
DECISION: Final = Family(
    "decision", "fact", "decision",
    _whole(
        rf"\A{_WHEN}(?:(?:{_PERSON}|(?:the|our|my) [\w-]+(?: team)?)(?:'ve| have| has)? ?{_ADVERBS}{_CHOSE}\b(?!"
        rf" (?:{_VAGUE}|option|a ticket)\b)"
        r"|(?:(?:i|we)(?: will|'ll| won't|(?: are|'re)(?: not)? going to| are|'re)|the team will) (?:not )?(?:use|go"
        r" with|going"
        r" with|switch to|switching to"
        r"|migrate to|migrating to|adopt|adopting|drop|dropping|stick with|sticking with|stay on|staying on"
        r"|standardi[sz]e on"
        rf"|keep using|support|deprecate|target|replace)\b(?! (?:{_VAGUE}|option)\b)"
        rf"|let's (?:use|go with|stick with|switch to|stay with|stay on|standardi[sz]e on|drop)\b(?! (?:{_VAGUE}"
        rf"|option|a|an)\b)"
        r"|it (?:was|is) (?:decided|agreed) that |(?:the )?decision(?: is| was|:) "
        r"|(?:the |our )?[\w][\w .'/-]{1,60}? (?:was|were|has been|have been|is|are) (?:chosen|picked|rejected"
        r"|deprecated|adopted|agreed"
        r"|decided|replaced (?:by|with)|dropped in favou?r)\b"
        r"|use [\w.'/ -]{2,60}? instead of |prefer [\w.'/ -]{2,60}? over )"
    ),
    .9, referring=True, by_agent=True,
)  # fmt: skip

_TASK = r"(?:fix|add|do|finish|check|change|update|look|make|try|get|see|write|remove|find|rename|move)"
RULE: Final = Family(
    "rule", "preference", "preference",
    _whole(
        rf"\A(?:(?:always|never|don't ever|do not ever|under no circumstances|whenever|every time|each time)\b(?!"
        rf" mind\b)(?! {_VAGUE}\b)"
        r"|(?:from now on|going forward|as a rule)\b,? |[a-z]+ .{3,80}\bfrom now on\b"
        r"|(?:use|write|keep|answer|respond|reply|name) .{2,60}? in (?:all|every|any) \w"
        r"|(?:in future|in the future|by default)\b,? (?=please|always|never|don't|do not|use|write|run|keep|ask|put"
        r"|name|add"
        r"|make|prefer|avoid|start|leave)"
        r"|(?:in|for|on|across) (?:this|our|the whole|all|every) (?:project|repo|repository|codebase|team|company"
        r"|repos|projects)\b,? "
        r"|before (?:every|each|committing|pushing|merging|deploying|releasing)\b"
        rf"|(?:don't|do not) (?:use|commit|push to|mock|import|rely on|log|hard-?code|force-push|merge)\b"
        rf"(?! (?:{_VAGUE}|yet|anything|now|any changes|the|and|or)\b)(?! ?[.!,]|\Z)"
        rf"|(?:you|i want you to|the assistant)(?: must| should| may| can)? (?:always|never)\b(?! {_VAGUE}\b)"
        rf"|(?:we|i) (?:never|always|only)\b(?! \w+ {_VAGUE}\b)(?! (?:had|saw|did|got|said|thought|want(?:ed)?"
        rf"|need(?:ed)?|struggled?|wonder(?:ed)?|been)\b)"
        r"|we use [\w.-]+,? (?:not|instead of|rather than|over) [\w.-]+"
        rf"|we (?:don't|do not) (?:use|mock|commit|deploy|allow|support|merge|log|write|ship|run)\b(?! {_VAGUE}\b)"
        r"|(?:our|the|my) (?:[\w-]+ )?(?:convention|policy|rule|guideline|standard|style guide|coding style)s? (?:is"
        r"|are|says?|requires?|for)\b"
        rf"|(?:all|every|each|any|public|private|new|our) (?!{_VAGUE}\b)[\w`./ -]{{2,60}}? (?:must|shall|needs?(?! to"
        rf" be\b)|requires?|have to|has to|gets?|go(?:es)?)\b(?! (?:to )?be (?:fixed|updated|changed"
        rf"|done)\b)"
        r"|.{2,80}\b(?:is|are) (?:not allowed|forbidden|prohibited|mandatory|not permitted|off[- ]limits)\b)"
    ),
    .9,
)  # fmt: skip

_BOUND = (
    r"(?:at most|up to|no more than|a (?:maximum|minimum) of|at least|per (?:second|minute|hour|day|month|user|request"
    r"|seat|integration|account|gb|call))"
)
LIMIT_TOLD: Final = Family(
    "limit", "fact", "fact",
    _whole(
        r"\A(?=.*\d)(?!.*\b(?:you|your|we|our|if)\b)(?:the |an? )?(?-i:[A-Z`])[\w`./'() -]{1,60}? (?:api|endpoint|plan"
        r"|tier|client|server|service|library|rate limit|limit|quota)?"
        rf" ?(?:only )?(?:allows?|permits?|accepts?|is limited to|are limited to|is capped at|times? out|costs?"
        rf"|charges?|requires?|limits?)\b.{{0,80}}\b{_BOUND}"
    ),
    .8, referring=True, by_agent=True,
)  # fmt: skip
"""What an agent found out about a service; anything less is advice."""

LIMIT: Final = Family(
    "limit", "fact", "fact",
    _whole(
        r"\A(?!(?:i|you|it|this|that|they|there|if|what|which)\b)[\w`./'() -]{2,80}? (?:(?:allows?|permits?|accepts?"
        r"|supports?|handles?|returns?|is limited|are limited"
        r"|is capped|has a|have a|times? out|expires?|costs?|takes?|charges|limits?|requires?|needs?)\b.{0,120}"
        r"\b(?:at most|up to|no more than|maximum|max|minimum|at least|only|limit|cap|quota"
        r"|per (?:second|minute|hour|day|week|month|year|user|request|seat|integration|account|dyno|gb|call)|dollars?"
        r"|euros?|usd|eur|\$)"
        r"|(?:limit|quota|maximum|cap|timeout|budget) (?:is|of|was)\b.{0,60}\d)"
    ),
    .85, referring=True,
)  # fmt: skip

_WRONG = (
    r"(?:fail|crash|broke|hang|hung|leak|slow|flak|error|bug|timed? ?out|stuck|exhaust|corrupt|miss|lost|wrong|kill"
    r"|stopp|deadlock|unable|could(?:n't| not)|did(?:n't| not))"
)
_CAUSE = (
    r"(?:.*\broot cause(?::| was\b| is\b| of .{2,60}? (?:was|is)\b)"
    rf"|(?:it |that )?turn(?:s|ed) out\b.*(?:\b(?:not|never|only|because|caused|needs?|must|due)\b|n't\b|{_WRONG})"
    r"|.*\b(?:workaround|trick|real fix) (?:is|was)\b(?! (?:in|on|documented)\b)"
    r"|.*\bonly works? (?:with|if|when|on)\b"
    rf"|(?=.*{_WRONG})(?=.*\b(?:because|due to|caused by)\b)(?=.*\b(?:fixed|fixes|solved|solves|resolved|went away"
    rf"|goes away|helped)\b).*"
)
PROBLEM: Final = Family(
    "problem-fix", "fact", "insight",
    _whole(
        rf"{_CAUSE}|.*\b(?:was|were) caused by\b|.*\b(?:failed|crashed|broke|hung|leaked|timed out|was slow|were slow"
        rf"|was down|went down) (?:\w+ ){{0,6}}?(?:because|due to)\b)"
    ),
    .85, referring=True,
)  # fmt: skip

PROBLEM_TOLD: Final = Family("problem-fix", "fact", "insight", _whole(rf"(?!.*\byou\b){_CAUSE})"), 0.85, True, True)
"""What an agent found: an explanation of how things are in general is none."""

_HAPPENS = (
    r"(?:(?:is|are) (?:scheduled|due|planned|set)|starts?|ends?|begins?|expires?|launches?|ships?|freezes?|goes live"
    r"|will|is|are|take[s]? place|happens?)"
)
_HAPPENED = (
    r"(?:met (?:with )?(?=(?-i:[A-Z])|the |our |my )|joined (?=(?-i:[A-Z])|the |our )|left|launched|released|shipped"
    r"|started|moved|hired|signed|bought|visited|presented|attended"
    r"|migrated|switched"
    r"|deployed|went live|celebrated|married|graduated|was born|were born|broke|resigned|retired|announced|agreed|had"
    r" a|took over)"
)
EVENT: Final = Family(
    "event", "event", "context",
    _whole(
        rf"\A{_WHEN}(?:(?:the|our|my|next) [\w -]{{2,50}}?(?:deadline|release|launch|demo|meeting|freeze|migration"
        rf"|review|workshop|conference|sprint|retro"
        rf"|interview|vacation|holiday|trip|birthday|wedding|exam|audit|rollout|cutover|go-live|beta|deadline)?[\w"
        rf" ]{{0,20}}? {_HAPPENS}\b"
        rf"|(?:{_PERSON}|my [\w ]{{2,30}}?|the [\w ]{{2,30}}?)(?:'ve| have| has)? ?{_ADVERBS}{_HAPPENED}\b"
        rf"|{_PERSON} (?:{_ADVERBS})?(?:need|needs|wants?|will|'ll|am going to|are going to|is going to|fly|flies"
        rf"|travel|leave|meet)\b"
        r"|(?:ci|production|staging|[\w-]+) must\b)"
    ),
    .8, referring=True,
)  # fmt: skip
"""Beside a date; `PLAN` needs none."""

PLAN: Final = Family(
    "plan", "event", "context",
    _whole(
        rf"\A{_WHEN}(?:we|our team|the team|{_NAME}|i) (?:'re |are |am |is |'m )?{_ADVERBS}(?:plan(?:s|ning)? (?:to|on"
        rf"|for)|intend(?:s|ing)? to|hop(?:e|ing) to"
        rf"|aim(?:s|ing)? to)\b (?!{_TASK}\b)"
    ),
    .8, referring=True,
)  # fmt: skip

_FAMILIES_STATES = (
    r"(?:(?:is|are|was|were) (?:\w+ )?(?:written|built|deployed|hosted|stored|located|based|owned|maintained|managed"
    r"|generated|documented|kept"
    r"|wiped|backed up|rotated|tested|published|part of|responsible for|in charge of|called|named|the owner|the"
    r" maintainer|our|my|in|on|at|served|reset|mirrored)"
    r"|runs? (?:on|in|at|every|with|against|as|through|via|under)|uses?|depends? on|lives? (?:in|on|at|under)|listens?"
    r" on|belongs? to|reports? to|owns?"
    r"|works? (?:at|for|as)|leads?|maintains?|manages?|talks? to|goes? (?:out )?(?:through|via|to)|go out|stays?"
    r"|starts? with|must be"
    r"|consists? of|stores?|exposes?|serves?|deploys? (?:to|with|via|through)|requires?|costs?|created|founded|wrote"
    r"|knows|replaces|still runs?)"
)
RELATION: Final = Family(
    "relation", "fact", "fact",
    _whole(
        r"\A(?!(?:i|you|he|she|it|they|this|that|these|those|there|here|if|when|while|what|which|who|where|how|why|as"
        r"|so|then|all tests|everything"
        r"|nothing|something|anything|both|some|one|let|make|please|see|note|your|their|its|his|her|now|today|code"
        r"|option)\b)"
        rf"(?!`|\w+ing\b|(?-i:[A-Za-z]+[a-z][A-Z]))[\w./'@&-]+(?: (?!(?:to|can|may|might|be|which|that|while|using|not"
        rf"|is|are|was|were|will|should|would|could|if|when)\b)"
        rf"[\w./'@&-]+){{0,4}}? {_FAMILIES_STATES}\b(?! (?:{_VAGUE}|now|here)\b)"
    ),
    .75, referring=True,
)  # fmt: skip

RELATION_TOLD: Final = Family(
    "relation", "fact", "fact",
    _whole(
        r"\A(?:the|this|your|our) (?:\w+ )?(?:project|repo|repository|codebase|backend|frontend|api|server|service"
        r"|database|pipeline|package|monorepo)"
        r" (?:is (?:written|built|deployed|hosted) |runs on|uses|depends on|listens on|targets|requires)\b"
    ),
    .7, referring=True, by_agent=True,
)  # fmt: skip
"""What an agent says of a project is in the project; only what shapes all work on it is taken from there."""

BY_USER: Final = (IDENTITY, PREFERENCE, ENVIRONMENT, RULE, DECISION, PROBLEM, LIMIT, PLAN, RELATION)
BY_AGENT: Final = (DECISION, PROBLEM_TOLD, LIMIT_TOLD, RELATION_TOLD)
"""In the order in which they are tried; the first that fits is the sentence's."""


# What a sentence must not be: a question, a request, a courtesy, a word about the moment or about something shown.


MIN_TOKENS: Final = 2
"""Content words of a sentence that says anything."""

_OPENING: Final = regex(
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
_CALLED: Final = regex(
    r"(?:please )?(?:(?:remember|note|keep in mind|bear in mind|be aware|mind|don't forget|do not forget|fyi|know)(?:"
    r" that|,|:|(?= the\b|(?= we\b)))"
    r"|(?:it's|it is) (?:important|worth knowing|worth noting|crucial|essential) (?:that|to know that)|i want you to"
    r" (?:know|remember) that"
    r"|you should know that) ?",
    re.IGNORECASE,
)
_QUESTION: Final = regex(
    r"(?:(?:can|could|would|will|do|does|did|is|are|was|were|should|shall|may|have|has|am) (?:you|i|we|it|he|she|they"
    r"|this|that|these|those|there|the|my|our|anyone|somebody)\b"
    r"|(?:what|why|how|who|whose|which|where)\b(?! (?:matters|works|we|i) )|when (?:do|does|did|is|are|was|will|should"
    r"|can)\b|any (?:idea|chance|thoughts|way|hint)"
    r"|is there|are there|isn't|aren't|don't you|won't|what's|how's|where's|who's|why's)",
    re.IGNORECASE,
)
_REQUEST: Final = regex(
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
_UNFIT_STATES: Final = regex(
    r"\S+ (?:is|are|was|were|has|have|had|must|runs?|lives?|uses?|will|goes|go out|can|cannot)\b", re.IGNORECASE
)
_POINTING: Final = regex(
    r"\b(?:see (?:above|below)|the above|the following|as follows|as above|shown (?:above|below)|below is|listed below"
    r"|attached|this (?:function|test|file|class|method"
    r"|line|error|code|bug|issue|one|snippet|output|log|message|change|pr|commit|diff|branch|query|variable|approach"
    r"|thing|stuff|case|part|script|page)"
    r"|that (?:function|test|file|class|method|line|error|bug|one|approach|way|thing)|these (?:files|tests|lines"
    r"|errors|changes)|the (?:same|latter|former) (?:one|way)?)\b",
    re.IGNORECASE,
)
_OBJECTLESS: Final = regex(
    r"(?:i|we)(?:'ve|'m|'re|'d|'ll)? (?:[\w']+ ){1,4}?(?:it|them|him|her|this|these|those|this one)(?= (?:is|was|at|in"
    r"|on|to|into|for|with|because|from|about|over|an?|as|and"
    r"|but|so|since|when|if|almost|non-stop|back|again|up|out|every|by|under|last|yesterday|the)\b|[.,;!]|\Z)",
    re.IGNORECASE,
)
_MOMENT: Final = regex(
    r"\b(?:for now|right now|just now|at the moment|for the moment|for this (?:pr|commit|branch|task|file|test|one"
    r"|change|ticket|release|time)|this time|just this once|yet"
    r"|temporarily|so far|in progress|still (?:failing|broken|running)|(?:is|are) (?:failing|running now|broken)|done"
    r"|before you (?:finish|start|commit)|when you're done)\b",
    re.IGNORECASE,
)
_EXCLAIMED: Final = regex(r"!{2,}|\b(?:wtf|damn|ugh|argh)\b", re.IGNORECASE)


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
    return set(tokens(sentence)) <= courtesy_tokens()


def is_short(sentence: str) -> bool:
    """Whether it has too few words to say anything."""
    return len(tokens(sentence)) < MIN_TOKENS


def is_request(sentence: str) -> bool:
    """Whether it wants something done, or says what its speaker is doing: nothing that lasts."""
    if _REQUEST.match(sentence) is not None:
        return True
    first = sentence.split(maxsplit=1)[0].lower().strip(",.:;!") if sentence.strip() else ""
    return first in _ORDERS and _UNFIT_STATES.match(sentence) is None


def points_elsewhere(sentence: str) -> bool:
    """Whether it can be understood only beside something that is shown."""
    return _POINTING.search(sentence) is not None


def lacks_object(sentence: str) -> bool:
    """Whether its speaker does something with "it", which is not said what it is: "I bought it in May"."""
    return _OBJECTLESS.match(sentence) is not None


def is_of_the_moment(sentence: str) -> bool:
    """Whether it holds for now, or for one task."""
    return _MOMENT.search(sentence) is not None or _EXCLAIMED.search(sentence) is not None
