"""German sentences: facts of statements, rules and changes; questions, requests and hypotheticals are left."""

from __future__ import annotations

import re
from itertools import product

import pytest

from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.german import about, is_german, third
from mnemond.extract.prose import sentences
from mnemond.extract.rules import RuleEngine

NOON_US = 1_780_000_000_000_000


def read(*texts: str, role: str = "user") -> Extraction:
    return RuleEngine().extract([Message(role, each) for each in texts], Context(observed_us=NOON_US))


def facts(*texts: str) -> list[str]:
    return [each.content for each in read(*texts).facts]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Ich wohne in Graz.", "User wohnt in Graz"),
        ("Meine Schwester heißt Lena.", "Users Schwester heißt Lena"),
        ("Der Worker läuft auf Port 8081.", "Der Worker läuft auf Port 8081"),
        ("Wir nutzen kein Jenkins mehr.", "Wir nutzen kein Jenkins mehr"),
        ("Verwende keine Mocks.", "Verwende keine Mocks"),
        ("Frag immer, bevor du Dateien löschst.", "Frag immer, bevor du Dateien löschst"),
        ("Das Gateway verträgt max. 250 Anfragen/s.", "Das Gateway verträgt max. 250 Anfragen/s"),
        ("Unser Konzert ist am 22. November in der Herderkirche.", "Unser Konzert ist am 22. November"),
        ("Secrets liegen bei uns in Vault, z. B. der Stripe-Key unter kv/pay.", "z. B. der Stripe-Key unter kv/pay"),
    ],
)
def test_a_statement_is_a_fact(text: str, fact: str) -> None:
    assert any(fact in each for each in facts(text)), read(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Kannst du den Importer prüfen?", "question"),
        ("Schreib mir ein Gedicht über den Herbst.", "request"),
        ("Wenn wir auf Kafka umsteigen würden, bräuchten wir drei Broker.", "hypothetical"),
        ("Der Kunde schrieb: „Wir nutzen nur noch v1 und haben das Limit auf 10 gesetzt“", "quote"),
        ("Vielleicht nutzen wir Redis 7.", "uncertain"),
        ("Mein Kollege meint, Docker sei zu langsam.", "uncertain"),
        ("Mein Opa sagte immer, Übung macht den Meister.", "uncertain"),
        ("Schreib einen Test, in dem der Nutzer Max heißt und 17 ist.", "request"),
        ("Schreib eine Mail an Herrn Vogt: Wir treffen uns am Montag um 10.", "quote"),
        ("Der Kunde schreibt: Wir haben 40 Mitarbeiter und nutzen SAP.", "quote"),
    ],
)
def test_another_sentence_is_left_with_a_reason(text: str, reason: str) -> None:
    found = read(text)
    assert not found.facts
    assert {each.reason for each in found.dropped} == {reason}


def test_a_request_beside_a_statement_is_left_alone() -> None:
    found = read("Die Mindestversion ist Python 3.12, du darfst also die neue Syntax nehmen.")
    assert [each.content for each in found.facts] == ["Die Mindestversion ist Python 3.12"]
    assert [each.reason for each in found.dropped] == ["request"]


def test_a_pronoun_stands_for_a_noun_or_a_name_before() -> None:
    assert facts("Wir haben einen Dienst, er heißt Papagei.", "Er ist in Go 1.23 geschrieben.")[-1] == (
        "Papagei ist in Go 1.23 geschrieben"
    )
    assert (
        facts("Wir haben seit Mai einen Hund.", "Er verträgt kein Getreide.")[-1] == "Der Hund verträgt kein Getreide"
    )


def test_a_pronoun_without_an_antecedent_is_left() -> None:
    assert [each.reason for each in read("Er läuft auf Port 80.").dropped] == ["unclear reference"]


def test_the_first_person_becomes_the_third() -> None:
    assert about("Ich arbeite bei Siemens und fahre Rad") == "User arbeitet bei Siemens und fährt Rad"
    assert about("bin umgezogen nach Bonn") == "User ist umgezogen nach Bonn"
    assert about("weil ich Ruhe brauche") == "weil User Ruhe braucht"
    assert about("Mein Hund mag mich", "Max") == "Max' Hund mag Max"
    assert [third(each) for each in ("arbeite", "esse", "gerne", "spiele")] == ["arbeitet", "isst", "gerne", "spielt"]


def test_a_language_is_recognised_by_its_function_words() -> None:
    assert is_german("Der Port ist 80.")
    assert not is_german("The port of the service is 80.")
    assert not is_german("We use Redis.")


def test_an_abbreviation_ends_no_sentence() -> None:
    assert len(sentences("Wir fliegen am 3. August nach Valencia, z. B. mit Iberia.")) == 1
    assert len(sentences("Das Token läuft nach 30 Min. ab.")) == 1
    assert len(sentences("Das dauert 30 Min. Danach ist Schluss.")) == 2


OPENINGS = ("", "Übrigens, ", "Nein, das ist falsch, ", "Für das Protokoll: ")
FIRST = (
    "Der Worker läuft auf Port 8081",
    "Meine Tochter Mia besucht die Waldschule",
    "Ich koche gern indisch mit Linsen",
)
SECOND = (
    "du darfst also Ruhe geben",
    "weil Hetzner billiger war",
    "und wir nutzen Loki für Logs",
    "das freut mich sehr",
)


@pytest.mark.parametrize(("opening", "first", "second"), list(product(OPENINGS, FIRST, SECOND)))
def test_every_word_is_in_a_fact_or_in_a_dropped_part(opening: str, first: str, second: str) -> None:
    text = f"{opening}{first}, {second}."
    found = read(text)
    kept = " ".join([*(each.content for each in found.facts), *(each.text for each in found.dropped)]).lower()
    words = {each.lower() for each in re.findall(r"\w{4,}", text) if not each.lower().startswith("mein")}
    assert {each for each in words if each not in kept and third(each) not in kept} == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bevor du etwas löschst, frag mich.", ["Bevor du etwas löschst, frag mich"]),
        ("Zur Datenbank: Postgres 16 läuft in Wien.", ["Postgres 16 läuft in Wien"]),
        ("Commits immer auf Englisch.", ["Commits immer auf Englisch"]),
        ("Wir nutzen Loki und schreib mir ein Skript.", ["Wir nutzen Loki"]),
        ("Wenn der Cache voll ist, läuft der Worker auf Port 80.", []),
        ("Das Skript funktioniert jetzt.", []),
        ("Das freut mich, das klingt toll.", []),
        ("Jetzt bin ich in Köln bei Bosch und fahre Rad.", ["Jetzt ist User in Köln bei Bosch und fährt Rad"]),
        ("Seit 2019 arbeite ich in Ulm.", ["Seit 2019 arbeitet User in Ulm"]),
        ("Jetzt wohne in Graz.", ["Jetzt wohnt User in Graz"]),
        ("Weil Hetzner günstig ist, kannst du das lassen.", []),
        ("Und wie das geht, ist gut.", []),
        ("Ist das Backup " + "groß " * 90, []),
        ("Schreib mir eine Funktion, die ISO-Daten parst.", []),
        ("Den gibt's schon seit letzter Woche.", []),
        ("Im Juli, zu viert: meine Frau Hanna, unsere Zwillinge Mia und Jon und ich.", []),
        ("Mein Knie tut seit dem Lauf gestern weh.", []),
        ("Der Build auf dem Runner bricht ab.", []),
        ("Außerdem hab ich am 20. Mai meine Prüfung.", ["User hat am 20. Mai Users Prüfung"]),
        (
            "Grafana läuft bei uns schon, auf dem kleinen Server neben Loki.",
            ["Grafana läuft bei uns schon, auf dem kleinen Server neben Loki"],
        ),
        (
            "Der Abschluss muss erst Ende April beim Steuerberater sein.",
            ["Der Abschluss muss erst Ende April beim Steuerberater sein"],
        ),
        ("Ach nee, ich fang ja seit Mai erst um 9 an.", ["User fängt seit Mai erst um 9 an"]),
        ("Unser Stammtisch jetzt donnerstags statt mittwochs.", ["Unser Stammtisch jetzt donnerstags statt mittwochs"]),
        ("Der DBA ist Ruben, den müsste ich vorher fragen.", ["Der DBA ist Ruben"]),
        ("Mein Physio heißt Timo und sagt, ich soll mehr dehnen.", ["Users Physio heißt Timo"]),
        (
            "Ich habe bei Bosch gekündigt und arbeite seit März bei Trumpf.",
            ["User hat bei Bosch gekündigt und arbeitet seit März bei Trumpf"],
        ),
        (
            "Mein Sohn geht nicht mehr zum Handball, er spielt jetzt Basketball.",
            ["Users Sohn geht nicht mehr zum Handball", "Der Sohn spielt jetzt Basketball"],
        ),
        (
            "Übrigens musst du vor dem Commit nicht mehr make lint laufen lassen.",
            ["Vor dem Commit nicht mehr make lint laufen lassen"],
        ),
    ],
)
def test_clauses_are_judged_by_their_kind(text: str, expected: list[str]) -> None:
    assert facts(text) == expected


def test_an_assistant_states_causes_alone() -> None:
    assert read("Die Ursache war ein Timeout von 30 Sekunden.", role="assistant").facts
    assert [each.reason for each in read("Der Worker läuft auf Port 80.", role="assistant").dropped] == ["progress"]
