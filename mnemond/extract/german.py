"""Findings of a German sentence.

A sentence is read in clauses. A statement is a clause with a subject that can be named, a finite verb and a value; a
clause that depends on one, or continues it, stays with it. The others are left with a reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

import msgspec

from mnemond.extract.facts import UNKNOWN
from mnemond.extract.findings import Finding, Judged, Left, Scene, with_dates
from mnemond.text.resources import on_first_use, read, regex

# ---------------------------------------------------------------- the language of a sentence


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/facts_german.toml"""

    markers: frozenset[str]
    english: frozenset[str]
    verbs: dict[str, str]


@on_first_use
def _words() -> _Words:
    return read("facts_german", _Words)


_WORD: Final = regex(r"[^\W_]+")
_UMLAUT: Final = regex("[äöüßÄÖÜ]")


def is_german(sentence: str) -> bool:
    """True if `sentence` has a word of German and not as many of English."""
    lists = _words()
    found = [each.lower() for each in _WORD.findall(sentence)]
    german = sum(each in lists.markers or _UMLAUT.search(each) is not None for each in found)
    return german > sum(each in lists.english for each in found)


# ---------------------------------------------------------------- kinds of clauses

_I: Final = 2
"""`re.IGNORECASE`"""

_QUOTE: Final = regex('[„“«»]|"[^"]{8,}"')
_QUESTION: Final = regex(
    r"[?？][\"'“”)]*\Z|^(?:wer|wie|was|wo|wann|warum|wieso|weshalb|wohin|woher|welche[rsnm]?|wen|wem|worauf|womit"
    r"|wofür)\b"
    r"(?! auch immer)",
    _I,
)
_HYPOTHETICAL: Final = regex(
    r"\b(?:würdes?t?|würden|wäre[nt]?|wärst|hätte[nt]?|hättest|könnte[nt]?|bräuchte[nt]?|müsste[nt]?|sollte[nt]?"
    r"|gäbe|käme[n]?"
    r"|theoretisch|angenommen|hypothetisch|mal angenommen|stell dir vor)\b",
    _I,
)
_UNSURE: Final = regex(
    r"\b(?:vielleicht|eventuell|womöglich|möglicherweise|vermutlich|wahrscheinlich|glaube ich|ich glaube"
    r"|keine ahnung|weiß nicht"
    r"|denke ich|ich denke|ich überlege|überlegen|schätze ich|unsicher|wohl|scheint|anscheinend|mal sehen)\b",
    _I,
)
_TRANSIENT: Final = regex(
    r"\b(?:gerade|grad|heute|eben|gleich|momentan|diesmal|dieses mal|erst mal|erstmal|noch nicht|morgen früh"
    r"|vorhin|kaputt"
    r"|fehlgeschlagen|fehl|abgestürzt|nervös|dann|müde|(?:einen?|den|folgenden) fehler|(?:ist|sind) (?:rot|grün"
    r"|da|weg|lang)|sieht|sehen|sitze|zu (?:lange|langsam|groß|laut|teuer|viel)|funktioniert|gestern war"
    r"|angehängt|hochgeladen|problem|crasht|abstürzt|gespannt|froh|genervt|hunger"
    r"|fertig)\b",
    _I,
)
_RULE: Final = regex(
    r"\b(?:immer|nie|niemals|grundsätzlich|stets|jedes mal|ab jetzt|ab sofort|ab heute|künftig|in zukunft"
    r"|zukünftig|von nun an"
    r"|generell|prinzipiell|standardmäßig|weiterhin|ausschließlich|nicht mehr|kein\w{0,2}\b.{1,40}\bmehr|bevor du"
    r"|ehe du|jedes?m?r? mal|vor jede[mrn]"
    r"|nach jede[mrn]|bei jede[mrn]|in diesem (?:repo|projekt|repository)|hier im (?:repo|projekt)|in jede[mrn]"
    r"|jeweils|finger weg|die finger von"
    r"|sobald|wann immer|niemals|ausnahmslos|auf keinen fall|unter keinen umständen)\b",
    _I,
)
_GENERAL: Final = regex(r"\b(?:keine?n?|nur|statt|anstatt|anstelle|nicht|lieber|auf (?:deutsch|englisch))\b", _I)
_THIS: Final = regex(
    r"\b(?:nur|nicht)\b.{0,60}\b(?:den|die|das|dem|diese[nmrs]?)\b|\b(?:die|das|den|dem|diese\w?)\b.{0,60}\bnicht\b", _I
)
_HERE: Final = regex(r"\b(?:diesmal|dieses mal|jetzt|heute|erst mal|erstmal|mal|gleich|hier|dafür|noch)\b", _I)
_IMPERATIVE: Final = regex(
    r"(?:bitte |also |dann |und |aber |außerdem |auch )*(?:schreib|mach|zeig|leg|lass|schau|prüf|fix|bau|gib|nimm"
    r"|erklär|fass|übersetz|formulier"
    r"|such|füg|änder|lösch|verwend|benutz|nutz|frag|antwort|sag|hol|setz|stell|teste?|start|führ|halt|vermeid"
    r"|kürz|lies|sieh"
    r"|guck|denk|merk|behandl|committ?|push|merg|installier|generier|erzeug|erstell|implementier|refaktorier|ersetz"
    r"|entfern|beantwort|ruf|trag|pass|bleib|hilf|rechne|plan|sortier|benenn|duz|siez|nenn|sprich|arbeite|achte|zitier"
    r"|begründ|vergiss|verzichte|empfiehl|schlag|rate|notier|speicher|log|deploy|bring|räum|check|mock)(?:e|le|re"
    r"|n? sie)?\b"
    r"(?! (?:ich|wir|er|es|uns (?:das|die))\b)",
    _I,
)
_ADDRESSED: Final = regex(
    r"\b(?:du|dir|dich|dein\w{0,2}|ihr|euch)\b|^(?:kannst|könntest|magst|willst|würdest|sollst|darfst|musst"
    r"|\w{2,20}st du)\b",
    _I,
)
_SHOULD: Final = regex(
    r"\b(?:musst du|du musst|sollst du|du sollst|darfst du|du darfst|brauchst du|du brauchst|du kannst|kannst du)\b", _I
)
_POINTING: Final = regex(
    r"^(?:das|dies|dieser|diese|dieses|da|danach|davon|damit|dazu|darin|dort|so|man|mehr|es|jemand|alles|nichts"
    r"|beide)\b(?! \w{0,30}(?:[A-ZÄÖÜ]))",
    _I,
)
_DEPENDENT: Final = regex(
    r"^(?:weil|dass|damit|da|obwohl|sodass|so dass|bis|bevor|nachdem|während|als|denn|der|die|das|den|dem|deren"
    r"|dessen|was"
    r"|wo|wobei|um|sondern|nicht|also|sonst|seitdem|sobald|solange|außer|statt|zurzeit|z\. ?B\.|u\. ?a\.|d\. ?h\.)\b",
    _I,
)
_APPOSED: Final = regex(
    r"^(?:er|sie|es) (?:heißt|ist|hat)\b|^(?:ist|sind|hat|haben|wird|werden|läuft|liegt|kostet|gehört|kommt|heißt"
    r"|verträgt|braucht|seit|aber nur)\b"
)
_ARTICLE: Final = regex(r"(?:Der|Die|Das|Den|Dem)\b")
_APPOSITION: Final = regex(
    r"^((?:der|die|das|mein\w{0,2}"
    r"|unser\w{0,2}) (?:[a-zäöüß]{1,30} ){0,2}[A-ZÄÖÜ][\w-]{1,40}), ([^,]{2,40}), (?=[a-zäöüß])",
    _I,
)
_JOINING: Final = regex(r"^(?:und|aber|oder) ", _I)
_WHENEVER: Final = regex(r"^(?:bevor|ehe|immer wenn|jedes mal,? wenn)\b", _I)
_BEFORE: Final = regex(r"^(?:bevor|ehe|sobald|nachdem|solange|auch wenn) ", _I)
_CONDITION: Final = regex(r"^(?:wenn|falls|sofern|ob|hättest|hätte|würde|wäre)\b", _I)

_LEAD: Final = regex(
    r"(?:(?:moin|hallo|hi|hey|servus|guten (?:morgen|tag|abend)|ja+|nein|nee|nö|doch|genau|okay|ok|gut|stimmt"
    r"|übrigens|ach(?: so| mist| ja)?"
    r"|also|haha|super|danke|klar|sorry|achtung|wichtig|kurz(?:e info)?|zur info|fyi|hinweis|nur so|ach übrigens"
    r"|apropos|achja|aha|mist"
    r"|falsch|quatsch|moment|korrektur|für das protokoll|fürs protokoll|merk dir|bitte merk dir|merke dir"
    r"|denk dran|kleine korrektur"
    r"|nein, falsch|das ist falsch|das stimmt nicht|stimmt nicht|in echt|ehrlich gesagt|zu mir|kurz zu mir"
    r"|zum hintergrund|nicht mehr)"
    r"(?:\s?[,.!:–—-]+\s*|\s+(?=dass\b)))+|(?:übrigens|ach|also|und|aber|in echt|außerdem|nämlich|naja|tja)\s+(?=\w)",
    _I,
)
_COLON: Final = regex(r"^[^:]{3,60}:\s+(?=[A-ZÄÖÜ])")
_CORRECTION: Final = regex(
    r"\b(?:nein|nee|falsch|stimmt nicht|korrektur|nicht mehr|sondern|verschoben|umgezogen|umgestellt|gewechselt"
    r"|kein\w{0,2}\b.{1,40}\bmehr|statt)\b",
    _I,
)
_SPLIT: Final = regex(
    r"\s*;\s+|,\s+(?!\d)|,\s+(?=\d+\s)(?!\d+ Uhr)|\s+[–—]\s+|\s+(?=(?:und|aber|oder) (?:ich|wir|mein\w{0,2}"
    r"|unser\w{0,2}|er|sie|es|der|die|das)\b)"
)
_AND: Final = regex(r"\s+und\s+")

# ---------------------------------------------------------------- statements

_FIRST: Final = regex(
    r"^(?:(?:seit|nur|jetzt|inzwischen|mittlerweile)\s+)?(?:bin|hab|habe|wohne|arbeite|fahre|mag|esse|trinke"
    r"|spiele|lerne|nutze|verwende|brauche|studiere|lebe|hasse|liebe|heiße"
    r"|bevorzuge|leite|betreue|komme|stehe|promoviere|unterrichte)\b",
    _I,
)
_VERB: Final = (
    r"(?:ist|sind|war|waren|hab|habe|bin|hat|haben|hatte|hatten|wird|werden|wurde|wurden|kann|können|darf|dürfen"
    r"|muss|müssen"
    r"|soll|sollen|will"
    r"|wollen|mag|mögen|weiß|[a-zäöüß]{2,20}(?:t|en|ern|eln))"
)
_NO_VERB: Final = (
    r"(?!(?:seit|mit|gegen|den|einen|keinen|neben|zwischen|unten|oben|hinten|vorn|nicht|meinen|unseren|ihren"
    r"|seinen|jetzt|selbst"
    r"|erst|sonst|zuerst|meist|fast|statt|samt|nächsten|letzten|neuen|alten|ersten|zweiten|unter|laut|oft|bereits|weit"
    r"|gut|schlecht|kaputt|morgen|gestern|insgesamt|drittes?|direkt|zurzeit|derzeit|bisschen|wenigen|vielen"
    r"|einigen|allen)\b)"
)
_DETERMINER: Final = (
    r"(?:der|die|das|den|dem|ein|eine|einen|einem|mein\w{0,2}|unser\w{0,2}|jede[rs]?|alle|beide|kein\w{0,2}|users"
    r"|im|in der|in|auf|am|bei|beim"
    r"|für|hinter|vor|unter|seit|aktuell|zurzeit|mittlerweile|inzwischen|als|zum|zur|ab|von|vom|mit|nach|dahinter"
    r"|davor|daneben|dazu)"
)
_NOUN: Final = r"(?:[A-ZÄÖÜ][\w.&/+-]*|[\w-]*[\d_/.][\w./-]*|`[^`]+`|[a-z]\w*-\w[\w-]*)"
_SUBJECT: Final = regex(
    rf"^(?:(?i:{_DETERMINER})\s+)*(?:[a-zäöü0-9]\w*\s+){{0,2}}?{_NOUN}(?:\s+(?:{_NOUN}|\([^()]*\)|beim|bei|an|zur"
    rf"|ohne|nach|von|der|des|für"
    rf"|im|in|aus"
    rf"|am|auf|vom|zum|mit|\d\S*|den|dem|and|und)){{0,6}}"
    rf",?\s+{_NO_VERB}{_VERB}\b"
)
_INVERTED: Final = regex(
    rf"^\S+(?:\s+\S+){{0,6}}?\s+{_NO_VERB}{_VERB}\s+(?:wir|ich|uns|der|die|das|ein|eine|mein\w*|unser\w*|User"
    rf"|{_NOUN})\b"
)
_SPEAKER: Final = regex(r"\b(?:ich|wir|uns|mein\w{0,2}|unser\w{0,2}|mich|mir)\b", _I)
_NAMED: Final = regex(r"(?<!^)(?<=[\s(\"'`/@-])(?:[A-ZÄÖÜ]\w+|[A-Z]+)|\d|`|[\w-]+[_/]\w|://")
_VERB_ANYWHERE: Final = regex(rf"\s{_NO_VERB}{_VERB}\b|^{_VERB}\b")
_VALUE_ADJECTIVE: Final = regex(
    r"\b(?:nicht mehr|vegan|vegetarisch|vegetarier\w*|allergisch|laktoseintolerant|verheiratet|ledig|geschieden"
    r"|schwanger"
    r"|farbenblind|linkshänder\w*"
    r"|deaktiviert|aktiviert|abgeschaltet|eingeschaltet|pflicht|verboten|erlaubt|optional|öffentlich|privat"
    r"|verschoben|umgezogen"
    r"|schwimmen|joggen|klettern|zelten|wandern|nachts|montags|dienstags|mittwochs|donnerstags|freitags|samstags"
    r"|sonntags)\b",
    _I,
)
_MOOD: Final = regex(
    r"\b(?:klingt|gefällt|freut|hoffe|hoffen|danke|finde|find|gute idee|egal|schade|toll|super|prima|geht so"
    r"|lohnt|passt|wundert"
    r"|nervt|brauche eine?n?|hab.{1,60}(?:gelegt|geschickt|gepusht|committet|getestet|probiert|versucht|gelesen"
    r"|gesehen|geändert|angepasst|hinzugefügt)|meint|sagt|sagte|behauptet|findet (?!am|um|im|ab|\w+tags"
    r"|.{1,60}statt)|brauche (?:mal|deine|hilfe)"
    r"|möchte|will|wollte|wollen|will ich|versuche|versuchen|suche|muss|müssen"
    r"|habe? (?:eine )?frage|bekomme|kriege|sehe)\b",
    _I,
)
_CHOICE: Final = regex(
    r"\b(?:entschieden|beschlossen|gewählt|umgestellt|gewechselt|umgestiegen|geeinigt|migriert"
    r"|setzen (?:jetzt )?auf|steigen .{1,40} um|ersetzt)\b",
    _I,
)
_LIKES: Final = regex(r"\b(?:mag|mögen|liebe|liebt|hasse|hasst|bevorzug\w+|lieber|am liebsten|lieblings\w*)\b", _I)
_CAUSE: Final = regex(r"^(?:die ursache|der grund|schuld|grund|ursache)\b|\b(?:lag|liegt) (?:an|daran)\b", _I)

Kind = Literal["statement", "rule", "continues"]


class _Clause(NamedTuple):
    """A clause, its kind, or the reason why it is left."""

    text: str
    kind: Kind | None
    reason: str = ""


def findings(text: str, scene: Scene) -> Judged:
    """The findings of `text`, one sentence of at most `MAX_SENTENCE` characters, else the reason why there are none."""
    sentence = " ".join(text.split())
    reason = _rejection(sentence, by_agent=scene.by_agent)
    if reason is not None:
        return reason
    lead = _LEAD.match(sentence)
    body = sentence[lead.end() :] if lead else sentence
    left: list[Finding | Left] = []
    colon = _COLON.match(body)
    if colon is not None:
        left.append(Left(body[: colon.end()].strip(), "nothing lasting"))
        body = body[colon.end() :]
    clauses = [_judge(each, scene) for each in _clauses(body)]
    found: list[Finding | Left] = [
        *left,
        *_collected(clauses, scene, corrects=_CORRECTION.search(sentence) is not None),
    ]
    if any(isinstance(each, Finding) for each in found):
        return [Left(lead[0].strip(), "greeting"), *found] if lead else found
    reasons = [each.reason for each in found if isinstance(each, Left)]
    return next((each for each in reasons if each != "nothing lasting"), "nothing lasting")


def _rejection(sentence: str, *, by_agent: bool) -> str | None:
    if _QUESTION.search(sentence) and not _RULE.search(sentence):
        return "question"
    if sentence.endswith("?"):
        return "question"
    if _QUOTE.search(sentence):
        return "quote"
    if _HYPOTHETICAL.search(sentence):
        return "hypothetical"
    if _UNSURE.search(sentence):
        return "uncertain"
    if by_agent and _CAUSE.search(sentence) is None:
        return "progress"
    return None


def _clauses(body: str) -> list[str]:
    found: list[str] = []
    whole = _APPOSITION.sub(r"\1 (\2) ", body.rstrip(" .!…"))
    for part in _SPLIT.split(whole):
        halves = _AND.split(part)
        rest = halves[0]
        for half in halves[1:]:
            if _IMPERATIVE.match(half) and not half[:1].isupper():
                found.append(rest)
                rest = half
            else:
                rest = f"{rest} und {half}"
        found.append(rest)
    return [each.strip() for each in found if each.strip()]


def _judge(clause: str, scene: Scene) -> _Clause:
    """The kind of one clause."""
    standing = _RULE.search(clause) is not None
    if _CONDITION.match(clause) or _BEFORE.match(clause):
        return _Clause(clause, "continues")
    if _IMPERATIVE.match(clause) or _SHOULD.search(clause) or clause.lower().startswith("bitte "):
        if standing or (
            _GENERAL.search(clause)
            and not _HERE.search(clause)
            and not _SHOULD.search(clause)
            and not _THIS.search(clause)
        ):
            return _Clause(clause, "rule")
        return _Clause(clause, None, "request")
    if _ADDRESSED.search(clause):
        return _Clause(clause, None, "request")
    if _QUESTION.match(clause):
        return _Clause(clause, None, "question")
    relative = _DEPENDENT.match(clause) is not None and not (clause[:1].isupper() and _ARTICLE.match(clause))
    if relative and clause.startswith("das ") and _MOOD.search(clause):
        return _Clause(clause, None, "nothing lasting")
    if (relative and not _SUBJECT.match(clause)) or _APPOSED.match(clause):
        return _Clause(clause, "continues")
    return _stated(clause, scene, standing=standing)


def _stated(clause: str, scene: Scene, *, standing: bool) -> _Clause:
    if _TRANSIENT.search(clause):
        return _Clause(clause, None, "nothing lasting")
    speaker = _SPEAKER.search(clause) is not None or _FIRST.match(clause) is not None
    if _MOOD.search(clause) and not standing:
        return _Clause(clause, None, "nothing lasting")
    if _POINTING.match(clause) and not speaker:
        return _Clause(clause, None, "unclear reference")
    if not (_NAMED.search(clause) or _VALUE_ADJECTIVE.search(clause) or _LIKES.search(clause)):
        return _Clause(clause, None, "names nothing")
    if speaker or _PRONOUN.match(clause) or _SUBJECT.match(clause) or _INVERTED.match(clause):
        return _Clause(clause, "statement")
    if standing:
        return _Clause(clause, "rule")
    if len(clause.split()) <= 8 and _VERB_ANYWHERE.search(clause) is None:
        return _Clause(clause, "continues")
    return _Clause(clause, "continues" if clause[:1].islower() else None, "nothing lasting")


def _collected(clauses: Iterable[_Clause], scene: Scene, *, corrects: bool) -> Iterable[Finding | Left]:
    """Findings of statements with the clauses that continue them; the other clauses are left."""
    group: list[_Clause] = []
    pending: list[str] = []
    for clause in clauses:
        if clause.kind == "continues":
            if group:
                group.append(clause)
            else:
                pending.append(clause.text)
            continue
        if group:
            yield from _fact(group, scene, corrects=corrects)
        group = []
        if clause.reason == "request" and pending and _WHENEVER.match(pending[0]):
            group = [*(_Clause(each, "continues") for each in pending), _Clause(clause.text, "rule")]
        elif clause.kind == "statement" and pending and _CONDITION.match(pending[0]):
            yield Left(", ".join([*pending, clause.text]), "hypothetical")
        elif clause.kind is None:
            yield from (Left(each, "nothing lasting") for each in pending)
            yield Left(clause.text, clause.reason)
        else:
            group = [*(_Clause(each, "continues") for each in pending), clause]
        pending = []
    if group:
        yield from _fact(group, scene, corrects=corrects)
    yield from (Left(each, "nothing lasting") for each in pending)


def _fact(group: list[_Clause], scene: Scene, *, corrects: bool) -> Iterable[Finding | Left]:
    joined = ", ".join(each.text for each in group)
    is_rule = any(each.kind == "rule" for each in group)
    resolved = joined if is_rule else _with_subject(joined, scene)
    if resolved is None:
        yield Left(joined, "unclear reference")
        return
    content = resolved if is_rule else about(resolved, scene.name)
    content, _ = with_dates(content, scene.said_us)
    content = _JOINING.sub("", content)
    content = content[:1].upper() + content[1:]
    decided = _CHOICE.search(content) is not None and not is_rule
    likes = is_rule or _LIKES.search(content) is not None
    yield Finding(
        content=content,
        family="rule" if is_rule else "preference" if likes else "decision" if decided else "statement",
        intent="preference" if likes else "fact",
        category="preference" if likes else "decision" if decided else "fact",
        confidence=0.85 if is_rule or likes else 0.75,
        decided=decided,
        corrects=corrects,
    )


# ---------------------------------------------------------------- pronouns

_PRONOUN: Final = regex(r"^(?P<p>[Ee]r|[Ss]ie|[Ee]s|[Dd]er)\s+(?=[a-zäöüß]{1,20}(?:t|en|ist|hat)\b)")
_LATE_PRONOUN: Final = regex(r"(?<=[a-zäöü] )(?P<p>er|sie|es)\b")
_HEISST: Final = regex(r"\b(?:heiß(?:t|en)|heisst|namens) ([A-ZÄÖÜ][\w-]+)")
_ANTECEDENT: Final = regex(
    r"\b(?P<d>der|den|dem|des|die|das|eine?n?|einem|meine?n?|mein|unsere?n?|unser"
    r"|Meine?|Mein|Unsere?|Unser|Der|Die|Das)\s+(?:[a-zäöü]\w+\s+){0,2}?(?P<n>[A-ZÄÖÜ][\w-]+)"
)
_ARTICLE_OF: Final = {"er": "der", "sie": "die", "es": "das"}
_OF_GENDER: Final = {
    "er": frozenset({"der", "den", "dem", "einen", "meinen", "unseren", "ein", "mein", "unser"}),
    "sie": frozenset({"die", "eine", "meine", "unsere"}),
    "es": frozenset({"das", "ein", "mein", "unser"}),
}


def _with_subject(text: str, scene: Scene) -> str | None:
    """`text` with the name or noun that its pronoun stands for; None if there is none."""
    found = _PRONOUN.match(text) or _LATE_PRONOUN.search(text)
    if found is None:
        return text
    pronoun = "er" if found["p"].lower() == "der" else found["p"].lower()
    before = text[: found.start()]
    for said in ([before] if before else []) + list(scene.said_last()):
        if (antecedent := _antecedent(said, pronoun)) is not None:
            return f"{before}{antecedent}{text[found.end('p') :]}"
    return None


def _antecedent(said: str, pronoun: str) -> str | None:
    named = _HEISST.findall(said)
    if named:
        return str(named[-1])
    nouns = [each["n"] for each in _ANTECEDENT.finditer(said) if each["d"].lower() in _OF_GENDER[pronoun]]
    return f"{_ARTICLE_OF[pronoun]} {nouns[-1]}" if nouns else None


# ---------------------------------------------------------------- first person

_ICH_VERB: Final = regex(r"\b[Ii]ch\s+(?P<v>[a-zäöüß]+)\b")
_VERB_ICH: Final = regex(r"\b(?P<v>[A-ZÄÖÜ]?[a-zäöüß]+)\s+ich\b")
_AND_VERB: Final = regex(r"(?<= und )(?P<v>[a-zäöüß]{3,}e|bin|hab|mag)\b(?=\s)")
_LAST_VERB: Final = regex(r"\b(?P<v>[a-zäöüß]{3,}e|bin|hab|mag)(?=,|$)")
_SUBORDINATE: Final = regex(r"\b(?:weil|dass|da|obwohl|damit|bis|als|nachdem|während|wo|sobald|seitdem)\s+ich\b")
_MY: Final = regex(r"\b[Mm]ein(?:e|en|em|er|es)?\b")
_ME: Final = regex(r"\b(?:mir|mich)\b")
_REFLEXIVE: Final = regex(r"(?<!mit )(?<!bei )(?<!für )(?<!von )(?<!zu )\b(?:mir|mich)\b")
_ICH: Final = regex(r"\b[Ii]ch\b")


def about(text: str, name: str = UNKNOWN) -> str:
    """`text` in the third person: "Ich wohne in Graz" is "User wohnt in Graz". "Wir" stays."""
    first = _FIRST.match(text)
    if first is not None and not _ICH.search(text):
        words = text.split(" ")
        at = 0 if words[0].lower() not in {"seit", "nur", "jetzt", "inzwischen", "mittlerweile"} else 1
        verb = words[at]
        words[at] = f"{verb} ich"
        text = " ".join(words) if at else f"ich {verb.lower()} {' '.join(words[1:])}"
    if _ICH.search(text):
        text = _REFLEXIVE.sub("sich", text)
        text = _AND_VERB.sub(lambda found: third(found["v"]), text)
        if _SUBORDINATE.search(text):
            text = _LAST_VERB.sub(lambda found: third(found["v"]), text)
        else:
            text = _VERB_ICH.sub(lambda found: f"{third(found['v'])} ich", text)
            text = _ICH_VERB.sub(lambda found: f"ich {third(found['v'])}", text)
        text = _ICH.sub(lambda _: name, text)
    text = _ME.sub(lambda _: name, text)
    possessive = f"{name}'" if name.endswith(("s", "x", "z", "ß")) else f"{name}s"
    return _MY.sub(lambda _: possessive, text)


def third(verb: str) -> str:
    """The third person singular of a verb in the first; another word stays as it is."""
    known = _words().verbs.get(verb.lower())
    if known is not None:
        return known.capitalize() if verb[:1].isupper() else known
    if not verb.endswith("e") or verb in {"gerne", "heute", "keine", "eine", "meine", "diese", "alle", "viele"}:
        return verb
    stem = verb[:-1]
    return f"{stem}et" if stem.endswith(("t", "d", "chn", "ffn", "gn", "tm")) else f"{stem}t"
