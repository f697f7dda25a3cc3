"""Who has to do with what, as far as a fact says so in so many words (spec 9, "Relations")."""

from __future__ import annotations

import re
from typing import Final

from mnemond.extract.fact import Relation
from mnemond.text.entity_kinds import kind_of

FUNCTIONAL: Final = frozenset({"works_at", "lives_in", "reports_to", "named"})
"""Relations of which a source has one at a time: another target takes the place of the earlier one."""

_THING: Final = r"(?:`[^`]{1,60}`|[A-Z][\w.+#&-]*(?: (?:[A-Z][\w.+#&-]*|of|\d[\w.]*)){0,3}|[\w.+#/-]+(?: [\w.+#/-]+)?)"
_NAME: Final = r"(?:[A-Z][\w.&-]*(?: [A-Z][\w.&-]*){0,3})"
_SOURCE: Final = rf"(?P<source>(?:[Tt]he |[Oo]ur )?(?:{_NAME}|[\w-]+(?: [\w-]+){{0,3}}?))"
_PLACE: Final = rf"(?:the )?{_NAME}(?: of {_NAME})?"
_STOP: Final = (
    r"(?=[,.;!)]|\s(?:and|but|because|as|since|for|with|to|in|on|at|by|over|instead|rather|which|who|where|when|so|\()"
    r"|\Z)"
)
_VERBS: Final = (
    ("works_at", r"(?:works?|started|is working|joined)(?: (?:at|for))?", _PLACE),
    ("lives_in", r"(?:lives in|moved to|is based in|is living in|is from)", _PLACE),
    ("reports_to", r"reports? to", _THING),
    ("owns", r"owns?", r"(?:the )?[\w -]{2,40}?"),
    ("depends_on", r"depends? on", _THING),
    ("part_of", r"(?:is|are) part of", r"(?:the )?[\w -]{2,40}?"),
    ("created", r"(?:created|founded|wrote)", _THING),
    ("uses", r"(?:uses?|runs? on|is written in|is built with)", _THING),
    ("prefers", r"(?:prefers?|likes?|loves?|enjoys?)", r"[\w`.+#/ -]{2,60}?"),
    ("dislikes", r"(?:hates?|dislikes?)", r"[\w`.+#/ -]{2,60}?"),
)
_PATTERNS: Final = tuple(
    (kind, re.compile(rf"\A{_SOURCE} {verb} (?P<target>{target}){_STOP}")) for kind, verb, target in _VERBS
)
_NAMED: Final = re.compile(r"\A(?P<source>[\w .'-]{1,60}?)(?:'s|') name is (?P<target>[^,.;]{1,60})")
_ROLE_AT: Final = re.compile(
    rf"\A{_SOURCE} (?:is|was|started as|works as) (?:an?|the) [\w -]{{2,60}}? (?:at|for) (?P<target>{_PLACE}){_STOP}"
)
_STARTED_AT: Final = re.compile(rf"\A{_SOURCE} (?:started|works|is working) (?:at|for) (?P<target>{_PLACE})")
_REPLACED: Final = re.compile(
    rf"\b(?:(?:switched|migrated|moved) (?:[\w-]+ ){{0,4}}?(?:away )?from (?P<old>{_THING}) to (?P<new>{_THING})"
    rf"|replaced (?P<old2>{_THING}) (?:with|by) (?:an? |the )?(?P<new2>{_THING}))"
)
_CHINESE: Final = (
    ("named", re.compile(r"\A(?P<source>.{1,30}?)的名字是(?P<target>.{1,30})\Z")),
    ("works_at", re.compile(r"\A(?P<source>.{1,30}?)在(?P<target>.{2,20}?)(?:工作|上班|任职|实习|做.{1,12})\Z")),
    ("works_at", re.compile(r"\A(?P<source>.{1,30}?)(?:就职于|任职于|供职于)(?P<target>.{2,20}?)\Z")),
    ("lives_in", re.compile(r"\A(?P<source>.{1,30}?)(?:住在|家在|定居在?|搬到了?|居住在)(?P<target>.{2,16})\Z")),
    (
        "prefers",
        re.compile(
            r"\A(?P<source>用户|\w{2,20}?)(?:更|比较|最|很|非常|特别|一直)?(?:喜欢|偏好|偏爱)(?:用|使用)?(?P<target>[\w"
            r" .+#]{2,30}?)\s?(?:而不是|，|。|\Z)"
        ),
    ),
)
_REPLACED_CHINESE: Final = re.compile(r"用\s?(?P<new>[\w.+# ]{2,30}?)\s?(?:替换|取代|代替)了?\s?(?P<old>[\w.+#]{2,30})")


def relations_of(content: str, *, about_subject: bool = True, kind: str | None = None) -> tuple[Relation, ...]:
    """The relations a told sentence states: if `about_subject` one about its subject, of type `kind` where that is
    known; and what replaced what."""
    found: list[Relation] = []
    about = _about_subject(content) if about_subject else None
    if about is not None and kind in (None, about.type):
        found.append(about)
    replaced = _REPLACED.search(content)
    if replaced:
        new, old = replaced["new"] or replaced["new2"], replaced["old"] or replaced["old2"]
        found.append(Relation(_bare(new), "replaces", _bare(old)))
    elif replaced := _REPLACED_CHINESE.search(content):
        found.append(Relation(_bare(replaced["new"]), "replaces", _bare(replaced["old"])))
    return tuple(found)


def _about_subject(content: str) -> Relation | None:
    for kind, pattern in (("named", _NAMED), ("works_at", _ROLE_AT), ("works_at", _STARTED_AT), *_PATTERNS, *_CHINESE):
        found = pattern.search(content)
        if found and not (kind == "lives_in" and _is_tool(found["target"])):
            return Relation(_bare(found["source"]), kind, _bare(found["target"]))
    return None


def _is_tool(name: str) -> bool:
    """ "We moved to Kubernetes" is about no home."""
    return kind_of(_bare(name)) == "tool"


def _bare(name: str) -> str:
    return name.strip(" `.,;").removeprefix("the ").removeprefix("The ")
