"""Names of people, organisations and places in Chinese, which writes no blanks and no capitals.

A run of Han is read from left to right: the longest name of the gazetteer, an organisation by its end (公司, 大学), a
person by a surname, one or two characters of given names and the words around them. At most a few dozen look-ups are
made for each character.
"""

from __future__ import annotations

from typing import Final

from mnemond.text.entity_shapes import Shape
from mnemond.text.name_lists import Chinese, chinese_places, name_lists
from mnemond.text.resources import on_first_use, one_of, regex

_FIRST_OF_LONGER: Final = frozenset("小老阿欧司上诸慕尉皇夏东令端公长宇")
"""First characters of nicknames and of surnames of two characters."""

_LONGEST_FOREIGN: Final = 5
"""Characters of the longest name of `Chinese.foreign`."""

_LONGEST: Final = 7
"""Characters of the longest name of the gazetteer that is looked up."""

_MAX_ORGANIZATION: Final = 10
"""Characters of an organisation's name before its end."""

_BEHIND_TITLE: Final = ("的", "说", "要", "让", "同意", "和", "在", "不", "吃", "开", "谈", "见", "聊", "发")
"""What follows 总 as the title of a director; 总 begins words too (总结, 总部)."""

_BLANKS: Final = 4
"""Characters before a name in which a word that introduces one is searched."""


def _organization_pattern() -> str:
    words = name_lists().chinese
    return (
        rf"(?P<rest>[^{words.never_in_organization}\W\d_a-zA-Z]{{1,{_MAX_ORGANIZATION}}}?)"
        rf"(?:{one_of(words.suffixes)}){{1,2}}"
        rf"(?:(?:第[一二三四五六七八九十]|附属)?[^{words.never_in_organization}\W\d_a-zA-Z]{{0,2}}(?:{one_of(words.suffixes)}))?"
    )


_ORGANIZATION: Final = regex(_organization_pattern)
_LEADING: Final = regex(lambda: rf"(?:{one_of(name_lists().chinese.leading)}){{1,3}}")


@on_first_use
def _sets() -> tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]:
    words = name_lists().chinese
    return frozenset(words.surnames), frozenset(words.doubtful_surnames), frozenset(words.given), frozenset(words.never)


def chinese_names(run: str) -> list[Shape]:
    """Names with their types in a run of Han, in their order."""
    found: list[Shape] = []
    words = name_lists().chinese
    surnames, doubtful, _, _ = _sets()
    beginnings = surnames | doubtful | _FIRST_OF_LONGER | {name[0] for name in words.foreign}
    at = end_of_name = organization_from = 0
    while at < len(run):
        name, kind = "", ""
        size = _known_size(run, at)
        if at >= organization_from and (match := _ORGANIZATION.match(run, at)):
            name, kind = _organization(match["rest"], match[0], words), "organization"
            if name:
                at = match.end() - len(name)
            elif size == 0:
                organization_from = at + 1
        if not name and size and _is_meant(run, at, size, words):
            name = run[at : at + size]
            kind = "location" if chinese_places()[name] else "organization"
            if kind == "location" and run[at + size : at + size + 1] in ("省", "市"):
                name += run[at + size]
        if not name and run[at] in beginnings:
            is_edge = at in (0, end_of_name) or run[max(0, at - _BLANKS) : at].endswith(words.before)
            name, kind = (_person(run, at, words) if is_edge or _may_begin(run, at) else ""), "person"
        if name:
            found.append((name, kind))  # type: ignore[arg-type]
            at += len(name)
            end_of_name = at
        else:
            at += 1
    return found


def _may_begin(run: str, at: int) -> bool:
    return run[at - 1] in "的，、"


def _known_size(run: str, at: int) -> int:
    places = chinese_places()
    for size in range(min(_LONGEST, len(run) - at), 1, -1):
        if run[at : at + size] in places:
            return size
    return 0


def _is_meant(run: str, at: int, size: int, words: Chinese) -> bool:
    """Return True unless the name is another word here: 苹果 is an apple unless someone works there."""
    if run[at : at + size] not in words.doubtful:
        return True
    return at > 0 and run[at - 1] in words.around_doubtful


def _organization(rest: str, whole: str, words: Chinese) -> str:
    """The name without the words of the sentence before it; "" if nothing that names is left."""
    lead = _LEADING.match(rest)
    start = lead.end() if lead else 0
    rest = rest[start:]
    for generic in words.generic:
        if rest == generic or (len(rest) <= 4 and len(generic) > 1 and rest.endswith(generic) and len(rest) < 3):
            return ""
    if len(rest) < 2 or any(char in "一两几各" for char in rest[:1]):
        return ""
    return whole[start:]


def _person(run: str, at: int, words: Chinese) -> str:
    """The person whose name begins at `at`; "" if nothing shows that it is one."""
    surnames, doubtful, given, never = _sets()
    for size in range(_LONGEST_FOREIGN, 1, -1):
        if run[at : at + size] in words.foreign:
            return run[at : at + size] if _follows(run, at + size, words.after) else ""
    if run[at : at + 2] in words.double_surnames:
        size, is_sure = 2, True
    elif run[at] in surnames:
        size, is_sure = 1, True
    elif run[at] in doubtful:
        size, is_sure = 1, False
    elif run[at] in "小老阿" and run[at + 1 : at + 2] in surnames | doubtful - {""}:
        name = run[at : at + 2]
        return name if len(name) == 2 and run.startswith(words.after_surely, at + 2) else ""
    else:
        return ""
    for title in words.titles:
        if run.startswith(title, at + size):
            is_title = len(title) > 1 or (is_sure and _follows(run, at + size + 1, _BEHIND_TITLE))
            return run[at : at + size] + title if is_title else ""
    first, second = run[at + size : at + size + 1], run[at + size + 1 : at + size + 2]
    if not first or first in never:
        return ""
    behind_two, behind_one = at + size + 2, at + size + 1
    are_given = first in given and second in given and bool(second)
    two_follow, one_follows = _follows(run, behind_two, words.after), _follows(run, behind_one, words.after)
    if second and second not in never:
        if first in given and two_follow and not one_follows and is_sure:
            return run[at:behind_two]
        if are_given and (two_follow or not one_follows or second != "和") and (is_sure or two_follow):
            return run[at:behind_two]
        if is_sure and not one_follows and run.startswith(words.after_surely, behind_two):
            return run[at:behind_two]
    if first in given and (is_sure or size == 2 or run.startswith(words.after_surely, behind_one)):
        is_strict = len(run) == behind_one or one_follows or second not in given
        return run[at:behind_one] if is_strict else ""
    return run[at:behind_one] if is_sure and run.startswith(words.after_surely, behind_one) else ""


def _follows(run: str, at: int, wanted: tuple[str, ...]) -> bool:
    """Return True if the run ends at `at`, or one of the words follows there."""
    return at == len(run) or run.startswith(wanted, at)
