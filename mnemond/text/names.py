"""Names of people, organisations and places in ordinary sentences of English and German.

A run of capitalised words is read from its beginning. What decides, in this order: titles ("Dr."), names of the
gazetteer, beginnings and ends of names of organisations and places ("University of", "GmbH", "Street"), given names,
and, in English alone, the words around an unknown name ("lives in X", "works at X", "X said", "our lawyer is X").
Where nothing decides, the run names nothing: a wrong name costs more than one that is missing. German writes every noun
with a capital, so that an unknown word is no name there unless a verb of living or working and a preposition stand
before it.

Each word is looked at a bounded number of times: the time grows linearly with the length of a text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from mnemond.text.entity_lists import entity_lists
from mnemond.text.entity_shapes import Shape, is_ordinary
from mnemond.text.name_lists import first_words, folded, name_lists, named_places
from mnemond.text.tokens import FUNCTION_WORDS

MAX_RUN: Final = 7
"""Words of one name with its particles."""

_LOOKED_BACK: Final = 8
"""Words before a name that are searched for a verb of living or working."""

_MIN_STREET: Final = 8
"""A German street has more letters than this: "Damm" and "Straße" alone are none."""

_SAMPLE: Final = 400
"""Words that tell the language of a text."""

_MAX_WORD: Final = 64
_SENTENCE_STARTS: Final = frozenset('.!?\n:;-*#>|"“”„(•[')
_ENDS: Final = frozenset(".!?\n;")
_HEADING: Final = 0.85
"""Share of capitalised words from which a line of four or more words is a heading."""


def bare_name(word: str) -> str:
    """`word` without a possessive or a contracted verb; O'Brien keeps its apostrophe."""
    straight = word.replace("’", "'")
    head, mark, tail = straight.rpartition("'")
    return head if mark and head and (tail in ("s", "d", "m", "t", "re", "ve", "ll")) else word


def _without_accents(low: str) -> str:
    """`low` with its letters bare: "lucía" is in the lists as "lucia"."""
    return "".join(char for char in unicodedata.normalize("NFD", low) if not unicodedata.combining(char))


def names_in(words: Sequence[str]) -> list[Shape]:
    """Names with their types, in the order of the text; `words` is what `entity_shapes.split` returns."""
    reader = _Names(words)
    titles = reader.titles
    at = 0
    while at < len(words):
        # Most words begin no name, so that they are passed here.
        at = reader.read(at) if words[at][0].isupper() or words[at].lower() in titles else at + 1
    return reader.found


class _Names:
    """Reads names at one place after another."""

    def __init__(self, words: Sequence[str]) -> None:
        self.found: list[Shape] = []
        self._words = words
        self._person_until = -_LOOKED_BACK - 1
        """The place behind the last person found."""
        self._lists = name_lists()
        self._terms = entity_lists().terms
        self.titles = self._lists.titles
        self._low = [word.lower() for word in words]
        sample = self._low[:_SAMPLE]
        german = sum(word in self._lists.german_words for word in sample)
        english = sum(word in self._lists.english_words for word in sample)
        self._is_german = german > english
        self._headings = frozenset() if self._is_german else self._heading_words()

    def _heading_words(self) -> frozenset[int]:
        """Places in lines that are written as headings: "Open Questions For Thursday"."""
        found: list[int] = []
        line: list[int] = []
        for at in range(len(self._words) + 1):
            if at < len(self._words) and self._words[at] not in _ENDS and self._words[at] != ",":
                if self._words[at][0].isalpha():
                    line.append(at)
                continue
            capital = sum(self._words[place][0].isupper() for place in line)
            if len(line) > 3 and capital >= _HEADING * len(line):
                found += line
            line = []
        return frozenset(found)

    # ------------------------------------------------------------ one place

    def read(self, at: int) -> int:
        """Add the name that begins at `at`, if any; return the place to go on from."""
        word = self._words[at]
        if self._low[at] in self._lists.titles and (end := self._titled(at)):
            return end
        if not word[0].isupper() or len(word) > _MAX_WORD:
            return at + 1
        for read in (self._organization, self._place, self._known, self._person, self._unknown):
            if end := read(at):
                return end
        return at + 1

    def _add(self, start: int, end: int, kind: str) -> int:
        name = " ".join([*self._words[start : end - 1], bare_name(self._words[end - 1])])
        name = name.replace(" .", ".").replace(" ' ", "'").replace(" ’ ", "’")
        self.found.append((name, kind))  # type: ignore[arg-type]
        if kind == "person":
            self._person_until = end
        return end

    def _is_start(self, at: int) -> bool:
        return at == 0 or self._words[at - 1] in _SENTENCE_STARTS

    def _before(self, at: int) -> str:
        return self._low[at - 1] if at else ""

    def _at(self, at: int) -> str:
        return self._low[at] if at < len(self._low) else ""

    def _is_capital(self, at: int) -> bool:
        """Return True for a capitalised word that may be part of a name."""
        if at >= len(self._words):
            return False
        word = bare_name(self._words[at])
        return (
            word[0].isupper()
            and len(word) <= _MAX_WORD
            and word.replace("-", "").replace("'", "").replace("’", "").isalpha()
            and word not in self._terms
        )

    def _is_surname(self, at: int) -> bool:
        """Return True if the capitalised word at `at` may follow a given name."""
        if not self._is_capital(at) or (len(self._words[at]) == 1 and self._at(at + 1) != "."):
            return False
        word = bare_name(self._words[at])
        low = folded(word)
        if low in self._lists.not_names or (word.isupper() and len(word) > 1):
            return low in self._lists.given
        if is_ordinary(word):  # "Rachel Green" in English alone, where a noun has no capital
            return not self._is_german and at not in self._headings and not self._is_common(low)
        return not (self._is_german and low.endswith(self._lists.german_noun_endings))

    def _is_common(self, low: str) -> bool:
        return low in FUNCTION_WORDS or low in self._lists.not_names_at_start or low in self._lists.organization_endings

    def _surnames(self, at: int, most: int = 4) -> int:
        """The place behind the surnames, middle names and initials that begin at `at`."""
        end = at
        while most and end < len(self._words) and self._words[end - 1] == bare_name(self._words[end - 1]):
            step = end
            while self._at(step) in self._lists.particles and step - end < 2:
                step += 1
            if self._is_irish(step):
                end = step + 3
                most -= 1
                continue
            is_initial = len(self._at(step)) == 1 and self._at(step + 1) == "." and self._words[step][0].isupper()
            if is_initial and self._is_surname(step + 2):
                end = step + 2
            elif self._is_surname(step) and len(self._words[step]) > 1:
                end = step + 1
            else:
                break
            most -= 1
        return end

    def _is_irish(self, at: int) -> bool:
        """Return True for O'Connor or D'Angelo, which `split` cuts at the apostrophe."""
        return self._at(at) in ("o", "d") and self._at(at + 1) in ("'", "’") and self._is_capital(at + 2)

    # ------------------------------------------------------------ people

    def _titled(self, at: int) -> int:
        """A name behind a title: "Dr. Ana Silva"; titles behind one another are passed over."""
        start = at + 1
        if not (self._words[at][0].isupper() or self._low[at] in self._lists.roles):
            return 0
        while start - at < MAX_RUN and (
            self._at(start) in self._lists.titles or (self._at(start) == "." and self._at(start - 1) in _ABBREVIATED)
        ):
            start += 1
        if self._is_irish(start):
            return self._add(start, start + 3, "person")
        if not self._is_surname(start) or len(self._words[start]) < 2:
            return 0
        return self._add(start, self._surnames(start + 1, 3), "person")

    def _person(self, at: int) -> int:
        lists = self._lists
        word = bare_name(self._words[at])
        low = folded(word)
        if low not in lists.given and not low.isascii():
            low = _without_accents(low)
        first = low if low in lists.given else low.partition("-")[0]
        if (word.isupper() and len(word) > 1) or word in self._terms:
            return 0
        is_given, is_doubtful = first in lists.given, first in lists.given_ambiguous
        if low in lists.surnames_first and not is_doubtful and self._is_surname(at + 1):
            return self._add(at, self._surnames(at + 1, 2), "person")
        if not (is_given or is_doubtful) or ("-" in low and not is_given):
            return 0
        end = self._surnames(at + 1)
        if (low in _MONTHS and self._at(at + 1) in lists.given) or (low == "jan" and self._at(at + 1).isdigit()):
            return 0
        if is_given and (not is_doubtful or first in lists.given_certain) and low not in _MONTHS:
            return self._add(at, end, "person")
        if end > at + 1 and self._is_thing(at + 1):
            return 0
        if end > at + 1 and not (self._is_start(at) and is_ordinary(word) and not self._acts(end)):
            return self._add(at, end, "person") if low not in _MONTHS or self._acts(end) else 0
        if end == at + 1 and low not in lists.not_names and self._acts_alone(at, end):
            return self._add(at, end, "person")
        return 0

    def _is_thing(self, at: int) -> bool:
        """Return True if the word behind an ambiguous given name makes both a thing: "Grace Period", "Max Retries"."""
        low = self._low[at]
        return is_ordinary(low) or low in _THINGS or low.endswith(_ENDINGS_OF_THINGS)

    def _acts(self, at: int) -> bool:
        return self._at(at) in self._lists.verbs_behind_full_names or self._at(at) in self._lists.verbs_of_persons

    def _acts_alone(self, at: int, end: int) -> bool:
        """Return True if the words around one word that is a name and an ordinary word too show a person."""
        lists, following = self._lists, self._at(end)
        if self._words[end - 1] != bare_name(self._words[end - 1]):
            return following in lists.belongings
        if self._is_german:
            is_verb = following in ("hat", "ist", "mag", "kann", "will", "soll", "muss", "war", "arbeitet", "wohnt")
            return self._is_role_of(at) or (is_verb and folded(self._words[at]) in lists.given)
        is_plain = is_ordinary(self._words[at]) or (folded(self._words[at]),) in named_places()
        if following in _DEEDS and not is_plain:
            return True
        if following in lists.verbs_of_persons or self._before(at) in lists.roles or self._is_in_state(end):
            return True
        return self._is_labelled(at) or (self._is_role_of(at))

    def _is_in_state(self, at: int) -> bool:
        if self._at(at) not in ("is", "was"):
            return False
        state = self._at(at + 1)
        if state == "on":
            return self._at(at + 2) in self._lists.on_states
        return state in self._lists.states_of_persons

    def _has_role(self, at: int) -> bool:
        """True before "is the product owner", "is our new lawyer"."""
        if self._at(at) not in ("is", "was") or self._at(at + 1) not in ("the", "our", "my", "a", "an", "her", "his"):
            return False
        return any(self._at(place) in self._lists.roles for place in range(at + 2, at + 5))

    def _is_labelled(self, at: int) -> bool:
        return at > 1 and self._words[at - 1] == ":" and self._low[at - 2] in self._lists.labels

    def _is_role_of(self, at: int) -> bool:
        """True behind "our lawyer is", "a friend named"."""
        if self._before(at) not in ("is", "was", "named", "called", "ist", "heißt"):
            return False
        roles = self._lists.roles_german if self._is_german else self._lists.roles
        for place in range(at - 2, max(at - _LOOKED_BACK, -1), -1):
            if self._words[place] in _ENDS or self._low[place] in (",", "and", "und"):
                return False
            if self._low[place] in roles:
                return True
        return False

    # ------------------------------------------------------------ organisations and places

    def _run_end(self, at: int) -> int:
        end = at + 1
        while end < len(self._words) and end - at < MAX_RUN and (self._is_capital(end) or self._low[end] in _LEGAL):
            end += 1
        return end

    def _is_part(self, at: int) -> bool:
        """Return True if an organisation's name may begin at `at`: no article, no verb of an instruction."""
        low = self._low[at]
        if low in FUNCTION_WORDS or low in self._lists.german_words or low in _WEEK:
            return False
        is_named_so = self._at(at + 1) in self._lists.organization_endings  # "Chase Bank"
        return not (self._is_start(at) and low in self._lists.not_names_at_start and not is_named_so)

    def _organization(self, at: int) -> int:
        lists = self._lists
        word = self._words[at]
        if not self._is_part(at) or not (self._is_capital(at) or word.isupper()):
            return self._joined_institute(at)
        end = self._run_end(at)
        low = folded(word)
        if self._at(at + 1) == "&" and self._at(at + 2) in _PARTNERS:
            return self._add(at, at + 3, "organization")
        if low in lists.organization_of and self._at(at + 1) == "of" and self._is_capital(at + 2):
            return self._add(at, self._of_end(at + 2), "organization")
        for last in range(end, at + 1, -1):
            ending = folded(bare_name(self._words[last - 1]))
            if ending not in lists.organization_endings:
                continue
            rest = self._low[at : last - 1]
            is_strict = ending in _LEGAL
            if at in self._headings and not is_strict:
                break
            if rest[0] in lists.generic and not is_strict:
                return last
            if not is_strict and all(is_ordinary(each) or each in lists.generic for each in rest):
                break
            if ending in lists.organization_of and self._at(last) == "of" and self._is_capital(last + 1):
                return self._add(at, self._of_end(last + 1), "organization")
            is_saint = at > 1 and self._words[at - 1] == "." and self._words[at - 2] == "St"
            return self._add(at - 2 if is_saint else at, last, "organization")
        if low in lists.organization_beginnings and self._is_capital(at + 1):
            return self._begun(at)
        return self._joined_institute(at)

    def _of_end(self, at: int) -> int:
        end = at + 1
        while self._is_capital(end) and end - at < 3 and self._words[end - 1] == bare_name(self._words[end - 1]):
            end += 1
        return end

    def _begun(self, at: int) -> int:
        """An organisation by its first word: "TU Dresden", "Banco Santander", "SC Freiburg"."""
        low, following = self._low[at], folded(bare_name(self._words[at + 1]))
        if following in self._lists.not_names or is_ordinary(following):
            return 0
        is_noun = following.endswith(self._lists.german_noun_endings)
        names_itself = low in _BANKS or (self._is_german and low in _GERMAN_FIRMS and not is_noun)
        return self._add(at, at + 2, "organization") if names_itself or (following,) in named_places() else 0

    def _joined_institute(self, at: int) -> int:
        """A German compound: "Fraunhofer-Institut"."""
        head, mark, last = self._words[at].rpartition("-")
        if not mark or folded(last) not in _COMPOUND_ENDS or not head[0].isupper() or is_ordinary(head):
            return 0
        first = folded(head.partition("-")[0])
        is_name = first in self._lists.given or (first,) in named_places() or "-" in head or not head.isupper()
        return self._add(at, at + 1, "organization") if is_name and first not in _COMMON_HEADS else 0

    def _place(self, at: int) -> int:
        """Streets, squares, bridges, lakes and the like."""
        lists = self._lists
        low = folded(bare_name(self._words[at]))
        endings = lists.place_word_endings
        is_street = len(low) > _MIN_STREET and low.endswith(endings) and low not in _NO_STREETS
        is_square = not low.endswith("platz") or self._before(at) in ("am", "zum", "vom")
        if self._is_capital(at) and is_street and is_square:
            return self._add(at, at + 1, "location")
        if not self._is_part(at) or at in self._headings:
            return 0
        if low in lists.place_beginnings and self._is_capital(at + 1) and not is_ordinary(self._at(at + 1)):
            return self._add(at, self._of_end(at + 1), "location")
        end = min(self._run_end(at), at + 4)
        for last in range(end, at + 1, -1):
            if folded(bare_name(self._words[last - 1])) in lists.place_endings and self._is_capital(at):
                rest = self._low[at : last - 1]
                is_generic = all(is_ordinary(each) or each in lists.generic for each in rest)
                is_numbered = self._at(last).isdigit() or (at > 0 and self._words[at - 1].isdigit())
                return 0 if is_generic and not is_numbered else self._add(at, last, "location")
        return 0

    def _known(self, at: int) -> int:
        """A place or organisation of the gazetteer, the longest that begins here."""
        low = folded(bare_name(self._words[at]))
        city, mark, quarter = low.partition("-")
        if mark and named_places().get((city,)) and quarter.isalpha() and self._words[at].istitle():
            return self._add(at, at + 1, "location")  # "Köln-Ehrenfeld"
        sizes = (5, 4, 3, 2, 1) if low in first_words() else (1,)
        for size in sizes:
            piece = self._words[at : at + size]
            if len(piece) < size or len(piece[-1]) > _MAX_WORD:
                continue
            key = tuple(folded(word) for word in [*piece[:-1], bare_name(piece[-1])])
            is_place = named_places().get(key)
            if is_place is None or piece[0] in self._terms:
                continue
            if size == 1 and not self._is_meant(at, key[0], is_place=is_place):
                return 0
            if is_place and self._is_surname(at + size) and key[0] in self._lists.given:
                return 0
            if size == 1 and not self._is_german and self._may_be_name(at + 1) and piece[0] == bare_name(piece[0]):
                return 0  # "Cambridge Analytica" is not in Cambridge
            return self._add(at, at + size, "location" if is_place else "organization")
        return 0

    def _is_meant(self, at: int, low: str, *, is_place: bool) -> bool:
        """Return True unless the word of the gazetteer is another word here."""
        word = bare_name(self._words[at])
        if word.isupper() and is_place:
            return False
        is_person = low in self._lists.given or low in self._lists.given_ambiguous
        before, following = self._before(at), self._at(at + 1)
        if is_person and self._is_surname(at + 1) and before not in ("in", "nach"):
            return False
        if low not in self._lists.doubtful and not is_person:
            return not (low in self._lists.not_names and not word.isupper())
        if low in ("mit", "iso") and not (before in ("at", "from", "am", "vom") and word.isupper()):
            return False
        if word.isupper() and len(word) < 5:
            return True
        if is_place:
            prepositions = self._lists.place_prepositions_german if self._is_german else self._lists.place_prepositions
            return before in prepositions
        if self._is_start(at):
            return self._acts(at + 1) or (following.endswith("ed") and following.isalpha())
        if is_ordinary(word) and not self._acts(at + 1):
            return before in _ORGANIZATION_PREPOSITIONS
        if self._is_german:
            return before in ("bei", "von", "an", "und", "mit") or following.endswith("t")
        return before in _ORGANIZATION_PREPOSITIONS or self._acts(at + 1) or following.endswith("ed")

    # ------------------------------------------------------------ unknown names

    def _unknown(self, at: int) -> int:
        """A name that no list has, by the words around it."""
        if not self._may_be_name(at):
            return 0
        end = at + 1
        while end - at < 4 and self._words[end - 1] == bare_name(self._words[end - 1]) and self._may_be_name(end):
            end += 1
        if self._is_capital(end) or end - at > 3:  # part of a longer run, which nothing explains
            return 0
        kind = self._unknown_german(at, end) if self._is_german else self._unknown_english(at, end)
        return self._add(at, end, kind) if kind else 0

    def _may_be_name(self, at: int) -> bool:
        if not self._is_capital(at) or at in self._headings:
            return False
        word = bare_name(self._words[at])
        low = folded(word)
        if len(word) < 3 or (not word[1:].replace("-", "").islower() and not word.istitle() and word[:2] != "Mc"):
            return False
        if low in self._lists.not_names or is_ordinary(word) or low in FUNCTION_WORDS or low in self._lists.roles:
            return False
        if low in self._lists.organization_endings or low in self._lists.place_endings:
            return False
        return not (self._is_start(at) and low in self._lists.not_names_at_start)

    def _has_near(self, at: int, wanted: frozenset[str]) -> bool:
        """Return True if one of `wanted` stands before `at` in the same sentence."""
        for place in range(at - 1, max(at - 1 - _LOOKED_BACK, -1), -1):
            if self._words[place] in _ENDS:
                return False
            if self._low[place] in wanted:
                return True
        return False

    def _is_about_a_place(self, at: int) -> bool:
        """Return True if the sentence before `at` speaks of a place, or of a person who lives or goes somewhere."""
        lists = self._lists
        if self._has_near(at, lists.place_words):
            return True
        is_person = at - self._person_until <= _LOOKED_BACK or self._has_near(at, lists.persons)
        return is_person and self._has_near(at, lists.settling)

    def _unknown_german(self, at: int, end: int) -> str:
        before, lists = self._before(at), self._lists
        is_called = self._is_role_of(at) and (before == "heißt" or end - at > 1)
        if end - at < 3 and (self._is_labelled(at) or is_called):
            return "person"
        if end - at > 1 and before in lists.roles_german:
            return "person"
        if end - at == 1 and folded(self._words[at]).endswith(lists.german_noun_endings):
            return ""
        if before in ("in", "nach", "aus") and self._has_near(at, lists.place_words_german):
            return "location"
        return "organization" if before == "bei" and self._has_near(at, lists.work_words_german) else ""

    def _unknown_english(self, at: int, end: int) -> str:
        lists, before, following = self._lists, self._before(at), self._at(end)
        is_possessive = self._words[end - 1] != bare_name(self._words[end - 1])
        is_free = before not in ("the", "a", "an", "our", "my", "your", "their", "this", "each", "every", "-")
        is_work = self._has_near(at, lists.work_words)
        is_place = before in lists.place_prepositions and self._is_about_a_place(at)
        if is_place and not (is_work and before in ("to", "at", "from")):
            return "location"
        if before in ("for", "at", "by", "with", "from", "joined", "joins") and is_work:
            return "organization"
        if before in _LEAVING and (at - self._person_until <= _CLOSE or self._before(at - 1) in lists.persons):
            return "organization"
        is_alone = not is_possessive and (not following.isalpha() or following in FUNCTION_WORDS)
        if before in _USING and is_alone:
            return "tool" if at - self._person_until <= _CLOSE or self._has_near(at, lists.persons) else ""
        if before in lists.organization_cues and (self._before(at - 1) != "the" or before not in _CLIENTS):
            return "organization"
        if before in lists.roles and end - at > 1 - (before not in _LOOSE_ROLES):
            return "person"
        if is_free and is_possessive:
            return "person" if following in lists.belongings else ""
        if is_free and (following in lists.verbs_of_persons or self._is_in_state(end) or self._has_role(end)):
            return "person"
        if self._is_labelled(at) or self._is_role_of(at):
            return "person"
        if is_free and self._at(end + 1) in _RELATED.get(following, ()) and self._is_capital(end + 2):
            return "person"  # "Gita reports to Marcus"
        return "person" if is_free and end - at > 1 and self._acts(end) else ""


_ORGANIZATION_PREPOSITIONS: Final = frozenset({"at", "from", "by", "for", "with", "joined", "bei", "to"})

_BANKS: Final = frozenset({"banco", "banca", "banque"})
_GERMAN_FIRMS: Final = frozenset({
    *("bäckerei", "kita", "praxis", "kanzlei", "autohaus", "apotheke", "grundschule", "gymnasium", "metzgerei"),
    *("hochschule", "universität", "klinikum", "stadtwerke", "sparkasse", "volksbank", "sc", "fc", "sv", "tsv"),
})  # fmt: skip
"""Beginnings of German names of organisations behind which any name may stand."""

_THINGS: Final = frozenset({"period", "investor", "party", "werte", "werten", "wert", "zahl", "director", "request"})
_ENDINGS_OF_THINGS: Final = ("ment", "ments", "tion", "tions", "ies", "ity", "ness", "ing", "ings", "ers", "zeit")

_CLIENTS: Final = frozenset({"client", "customer"})
"""Words that also describe a thing: "the client Portal"."""

_DEEDS: Final = frozenset({
    *("owns", "maintains", "leads", "wrote", "works", "reviews", "reviewed", "manages", "handles", "joined", "left"),
    *("approved", "fixed", "lives", "moved"),
})  # fmt: skip
"""Verbs behind a given name that is an ordinary word too: "Victor maintains the CLI"."""

_RELATED: Final = {"reports": ("to",), "works": ("at", "for"), "lives": ("in",), "moved": ("to",)}
"""Verbs of people with their prepositions, behind an unknown word and before a name."""

_LEAVING: Final = frozenset({"left", "quit", "joined"})
_USING: Final = frozenset({"use", "uses", "used", "using"})
"""Verbs behind a person: before an organisation, and before a tool."""

_CLOSE: Final = 2
"""Words from a person to what stands behind such a verb: "Ana now uses Zotero"."""

_PARTNERS: Final = frozenset({"sons", "söhne", "co", "partner", "partners", "company"})
"""Words behind "&" in the name of an organisation."""

_ABBREVIATED: Final = frozenset({"mr", "mrs", "ms", "dr", "prof", "rev", "st", "med", "hr", "fr"})
"""Titles with a full stop."""

_LEGAL: Final = frozenset({
    *("inc", "corp", "ltd", "llc", "llp", "plc", "gmbh", "ag", "kg", "kgaa", "ohg", "ug", "pty", "limited"),
    *("corporation", "university", "universität"),
})  # fmt: skip
"""Ends of names of organisations that leave no doubt; small letters are as good as capitals."""

_MONTHS: Final = frozenset({"april", "may", "june", "august"})
_WEEK: Final = frozenset({"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"})

_COMPOUND_ENDS: Final = frozenset(
    {"institut", "universität", "stiftung", "klinik", "klinikum", "gymnasium", "verlag", "werke", "schule"}
)
_COMMON_HEADS: Final = frozenset({"kunden", "sport", "musik", "partner", "online", "tages", "fach", "haut", "it"})

_NO_STREETS: Final = frozenset(
    {
        "einbahnstrasse",
        "sackgasse",
        "nebenstrasse",
        "parkplatz",
        "arbeitsplatz",
        "stellplatz",
        "speicherplatz",
        "spielplatz",
        "sportplatz",
        "marktplatz",
        "sitzplatz",
        "schreibtischplatz",
        "durchgangsstrasse",
        "seitenstrasse",
        "fertigungsstrasse",
    }
)

_LOOSE_ROLES: Final = frozenset(
    {"lead", "leader", "contact", "partner", "admin", "speaker", "trainer", "director", "boss"}
)
"""Roles that are verbs or adjectives too: one unknown word behind them is no person."""
