"""Plain statements, standing instructions, quotations and antecedents in English, each beside what looks alike."""

from __future__ import annotations

import pytest

from mnemond.extract.english_clauses import clauses, spelled, without_lead
from mnemond.extract.english_grammar import parse, with_ed, with_ing, with_s
from mnemond.extract.prose import sentences
from mnemond.extract.quoted import without_quotes
from tests.extract.exchanges import contents, extracted


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I'm a nurse at St. Thomas in Leeds.", ["User is a nurse at St. Thomas in Leeds"]),
        ("i'm 34 and i weigh 92 kg", ["User is 34", "User weighs 92 kg"]),
        ("I am vegetarian and allergic to peanuts.", ["User is vegetarian", "User is allergic to peanuts"]),
        ("I am vegetarian and my wife eats everything.", ["User is vegetarian", "User's wife eats everything"]),
        ("Our son Felix is allergic to peanuts.", ["Our son Felix is allergic to peanuts"]),
        ("My flatmate kasia is coeliac", ["User's flatmate kasia is coeliac"]),
        ("Kasia's coeliac.", ["Kasia is coeliac"]),
        ("I sing alto.", ["User sings alto"]),
        ("I run every Tuesday evening.", ["User runs every Tuesday evening"]),
        ("i dont have docker, only podman", ["User doesn't have docker, only podman"]),
        ("I can't eat gluten.", ["User can't eat gluten"]),
        ("I can only pair in the evenings.", ["User can only pair in the evenings"]),
        ("I've been sober since March 2022.", ["User has been sober since March 2022"]),
        ("I've never been to Asia.", ["User has never been to Asia"]),
        ("I have never used Rust.", ["User has never used Rust"]),
        ("I used to work for Nokia in Oulu.", ["User used to work for Nokia in Oulu"]),
        ("We sold the Skoda in August.", ["We sold the Skoda in August (2025-08-01 to 2025-08-31)"]),
        ("I left Deloitte and now work as a bookkeeper.", ["User left Deloitte", "User now works as a bookkeeper"]),
        ("I want to run a marathon by May 2027.", ["User wants to run a marathon by May 2027"]),
        ("We're flying to Lisbon on 3 April.", ["We're flying to Lisbon on 3 April"]),
        ("I'm learning Finnish.", ["User is learning Finnish"]),
        ("The choir rehearses on Mondays at 19:30 in St. Mark's hall.",
         ["The choir rehearses on Mondays at 19:30 in St. Mark's hall"]),
        ("The recordings are kept on an encrypted drive.", ["The recordings are kept on an encrypted drive"]),
        ("Emails are sent through Postmark.", ["Emails are sent through Postmark"]),
        ("Jobs time out after 30 minutes.", ["Jobs time out after 30 minutes"]),
        ("The beta programme is closed.", ["The beta programme is closed"]),
        ("The search team judges every change by one metric.", ["The search team judges every change by one metric"]),
        ("The password gets reset every night at 3.", ["The password gets reset every night at 3"]),
        ("The deadline was postponed to 20 May.", ["The deadline was postponed to 20 May"]),
        ("Coverage went up to 84 percent.", ["Coverage went up to 84 percent"]),
        ("The Vienna office closed.", ["The Vienna office closed"]),
        ("Our designer left.", ["Our designer left"]),
        ("The maintainer wrote the scheduler in Go.", ["The maintainer wrote the scheduler in Go"]),
        ("Guests cannot see the beta dashboard.", ["Guests cannot see the beta dashboard"]),
        ("Resellers may not set prices.", ["Resellers may not set prices"]),
        ("The abstract may have 300 words.", ["The abstract may have 300 words"]),
        ("Invoices must carry a VAT number.", ["Invoices must carry a VAT number"]),
        ("By contract we have to delete data within 30 days.", ["By contract we have to delete data within 30 days"]),
        ("It will back up the NAS every Sunday. ", []),
        ("The new disk will back up the NAS every Sunday.", ["The new disk will back up the NAS every Sunday"]),
        ("There are four of us in our team.", ["There are four of us in our team"]),
        ("There is no lift in the building.", ["There is no lift in the building"]),
        ("Everything is in dbt plus BigQuery.", ["Everything is in dbt plus BigQuery"]),
        ("It takes me 40 minutes to get to work.", ["It takes User 40 minutes to get to work"]),
        ("You'll find the water valve of the house in the cellar.",
         ["You'll find the water valve of the house in the cellar"]),
        ("HTTP 429 means the quota is used up.", ["HTTP 429 means the quota is used up"]),
        ("This repo is a monorepo with 14 packages.", ["This repo is a monorepo with 14 packages"]),
        ("The vet said our dog Biscuit weighs 31 kg.", ["The vet said our dog Biscuit weighs 31 kg"]),
        ("Because the DB is shared by all teams, tests run one after another.",
         ["Because the DB is shared by all teams, tests run one after another"]),
        ("If the power fails, the UPS keeps us running for 40 minutes.",
         ["If the power fails, the UPS keeps us running for 40 minutes"]),
        ("decision: monorepo for the firmware", ["Decision: monorepo for the firmware"]),
        ("My partner's photos live on the NAS, mine are in iCloud.",
         ["User's partner's photos live on the NAS", "User's photos are in iCloud"]),
        ("Yusuf has stopped looking after the tools, Greta Lindqvist does it now.",
         ["Yusuf has stopped looking after the tools, Greta Lindqvist does it now"]),
    ],
)  # fmt: skip
def test_a_plain_statement_is_kept(said: str, kept: list[str]) -> None:
    assert contents(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        "Yusuf looks after the tools.", "Parking in the yard is free for everybody.", "The e2e run is weekly now.",
        "Ana is lead of the Apollo team.", "Green is my favourite colour.", "I was born in Graz in 1990.",
        "I was a nurse for 20 years.", "Dr. Osei prescribed ibuprofen for the back pain.", "Fridays are off.",
        "We slept at Rui's place in Porto.", "I have been a nurse for 12 years.", "Emre has taken over the newsletter.",
        "The release is shipping on 3 May 2027.", "Zsófia's desk phone is gone.", "Autoscaling is off in production.",
        "Feature branches are merged with a merge commit.", "My son must not eat nuts.", "I must wear a brace.",
        "The report must be in by 3 May 2027.", "I will be in Rome until 3 May 2027.", "The second dose was in April.",
        "The price will rise to 30 euros.", "We got a dog.", "I take metformin twice a day.",
        "I need glasses every day.",
        "The balcony faces the sea and the old town.", "Heron does Android.", "Column user_id is never null.",
        "Code in src/legacy is frozen.", "Our travel insurance covers 5000 euros.", "I have a wheelchair.",
        "The CI runner has 8 GB of RAM.", "apps/api is fastify.", "My Kindle has a cracked screen.",
        "Anything larger has to go through the presigned flow.", "PRs should be small.", "Ada should sleep 10 hours.",
        "The gateway can handle 500 req/s.", "All timestamps are in UTC.", "My goal is to lose 5 kg by summer.",
    ],
)  # fmt: skip
def test_states_changes_and_plans(said: str) -> None:
    (fact,) = extracted(said).facts
    assert "User" in fact.content or fact.content.rstrip(".")[1:7] == said[1:7]


@pytest.mark.parametrize(
    "said",
    [
        "The meeting is at noon today.", "The food is like magic.", "I've been trying to fix it.",
        "I have eaten pizza.",
        "I am told that it works on Linux.", "We must fix the test.", "I will think about Rome.",
        "I'll see you tonight.",
        "The code is merged.", "The server needs a restart.", "I will send the second draft.",
        "I get errors in foo.py.",
        "My trip got off to a bad start.", "The issue was closed.", "The cache was cleared.", "I am sure of 3 things.",
        "We had lunch with Ana.", "I see an error in foo.py.", "She is nice.", "The thing with 3 legs is a mess.",
        "I'm about 3 minutes late.", "This is Ana's.", "The page says 3 items.", "The menu looks wrong on 3 pages.",
        "I have been in the meeting.", "We want it.", "It may be 3.",
    ],
)  # fmt: skip
def test_what_holds_for_the_moment(said: str) -> None:
    assert contents(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "The tests are failing now.", "I'm getting a 404 on the login page.", "The build is red.",
        "The page is blank.", "The meeting went well.",
        "That's a great idea.", "I like your second suggestion.", "I need a function that parses dates.",
        "I have a question about the deploy.", "I have an error in my code.", "It doesn't work.",
        "Make the button blue.",
        "If we used Redis, we'd need a second server.", "Suppose I had a dog.", "I think we might need a cache.",
        "I'll be back in ten minutes.", "I'm tired.", "I'm about to deploy.", "I'm working on the login bug.",
        "The second paragraph is too long.", "I would love to live in Japan.", "I tried to restart it.",
        "I ran the migration.", "The function returns None.", "The query is slow.", "We should probably refactor this.",
        "I'm looking for a hotel in Rome.", "Today I'm cooking pasta.", "I had pizza for lunch.", "My head hurts.",
        "I can't find the config.", "He said it was fine.", "You said the limit is 5 MB.",
        "I thought the port was 80.", "My code doesn't compile.", "The new version is much better.", "I have an idea.",
        "Let's use a dict here.", "The deploy is running.", "I always forget how this works.", "Never give up.",
        "I have some spinach and half an onion.", "Here's a photo of the garden.", "Sounds like a plan for Monday.",
        "Your answers are too long for me.", "Clay is incredible.", "Obstacles are inevitable.",
        "She must have been 12.",
        "I got an email from Bob.", "I learned a lot about Rust.", "I just pushed version 2.",
        "Startup takes 9 seconds.",
        "startup takes 9 seconds", "There is a bug in the parser.", "We keep getting timeouts.",
        "Everybody knows Rust.",
        "When I run it, it crashes.", "If it works, push it.", "stacktrace comes in a sec", "I'm staying positive.",
        "I could use Kafka.", "I prefer option B.", "The app crashes on Android.", "The nightly import keeps dying.",
        "In the novel I'm writing, Clara is a surgeon in Vienna and hates her father.",
        "In my D&D campaign, the king is called Aldric. He rules Westmarch.",
        "Suppose our API had 10 million users and each sent 5 requests a day.",
        "Add a test where user.name is 'Bob' and age is 42, then check that it is rejected.",
        "My colleague says Rust is always faster than Go. Is that true?", "My wife says hi.",
        "My grandma used to say that bread is better on the second day.", "I read that Apple moved to ARM in 2020.",
        "For the sake of argument, our budget is a million.", "My son is doing homework: a farmer has 12 cows.",
        "The article claims that remote work costs 10 % of output.", "I have a meeting in 5 minutes.",
        "log output: worker started on port 9000, memory limit is 512 MB",
        "Let me paste the spec: The timeout is 15 min.",
        "Write the intro.", "Give me a summary.",
        "Write a mail to Mr Vogt: The meeting on Friday is cancelled, we meet on Monday at 10.",
    ],
)  # fmt: skip
def test_what_is_said_in_passing_is_not(said: str) -> None:
    found = extracted(said)
    assert [each.content for each in found.facts] == []
    assert found.dropped


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Don't use mocks, use real SQLite.", "Don't use mocks, use real SQLite"),
        ("never add docstrings to tests", "Never add docstrings to tests"),
        ("ask before deleting files", "Ask before deleting files"),
        ("We should always use uv in this repo.", "We should always use uv in this repo"),
        ("Keep your answers under 100 words.", "Keep your answers under 100 words"),
        ("Please don't use emoji when you write to me.", "Don't use emoji when you write to User"),
        ("When you write SQL, use lowercase keywords.", "When you write SQL, use lowercase keywords"),
        ("Run make lint before every commit.", "Run make lint before every commit"),
        ("Use British spelling.", "Use British spelling"),
        ("But still run the unit tests before every push.", "Run the unit tests before every push"),
        ("Keep functions under 40 lines.", "Keep functions under 40 lines"),
        ("Water the ficus once a week.", "Water the ficus once a week"),
        ("When something drips, call Mr Novak.", "When something drips, call Mr Novak"),
        ("I want type hints on all new functions.", "User wants type hints on all new functions"),
        ("Please stop adding emojis to commit messages.", "Don't add emojis to commit messages any more"),
        ("You can stop prefixing branches with my initials.", "Don't prefix branches with User's initials any more"),
        ("You don't need to add calories any more.", "You don't need to add calories any more"),
        ("Can you stop telling me to see a doctor?", "Don't tell User to see a doctor any more"),
        ("Before you order anything for me, ask me first.", "Before you order anything for User, ask User first"),
        ("Never suggest pork recipes to me.", "Never suggest pork recipes to User"),
        ("Please always run ruff before you commit here.", "Always run ruff before you commit here"),
        ("Write the commit messages in English.", "Write the commit messages in English"),
        ("Call me Theo.", "User's name is Theo, call the user Theo"),
    ],
)  # fmt: skip
def test_a_standing_instruction_is_a_rule(said: str, kept: str) -> None:
    assert kept.replace("User Theo", "Theo Theo") in contents(said) or kept in contents(said)


@pytest.mark.parametrize(
    "said",
    [
        "don't touch that file yet", "fix the test", "Don't use a semicolon there.", "Use a loop here.", "use option 2",
        "Delete the branch.", "Run the tests again.", "Don't commit yet.", "Keep it short this time.",
        "Stop the server.",
        "Answer this one in French, please.", "Don't worry about the formatting.", "Use Redis", "Ask Bob.",
        "Call me later.", "add tests for the parser", "Write the docs in this file.", "Only do the small fixes today.",
    ],
)  # fmt: skip
def test_an_order_on_the_matter_at_hand_is_none(said: str) -> None:
    assert contents(said) == []


def test_an_order_after_a_rule_continues_it() -> None:
    text = "From now on write commit messages in the imperative. Also, reference the Linear ticket in the footer."
    assert contents(text) == [
        "From now on write commit messages in the imperative", "Reference the Linear ticket in the footer"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("No, that's wrong: the port is 8443, not 443.", ["The port is 8443, not 443"]),
        ("Actually my daughter is 7, not 6.", ["User's daughter is 7, not 6"]),
        ("We no longer use Slack, only Teams.", ["We no longer use Slack, only Teams"]),
        ("I don't go to yoga any more, switched to bouldering instead",
         ["User no longer goes to yoga", "User switched to bouldering instead"]),
        ("My sister isn't vegan anymore.", ["User's sister is no longer vegan"]),
        ("They don't ship to Norway any more.", []),
        ("I'm not vegan any more.", ["User is no longer vegan"]),
        ("We don't use Jenkins anymore, only Drone.", ["We no longer use Jenkins, only Drone"]),
        ("You no longer have to run make lint before a commit.",
         ["You no longer have to run make lint before a commit"]),
        ("I moved to Porto.", ["User moved to Porto"]),
        ("The admin UI doesn't run on 9000 any more, it's on 9443 now.",
         ["The admin UI no longer runs on 9000", "The admin UI is on 9443 now"]),
        ("My sister isn't living in Leeds anymore, she works in Bristol.",
         ["User's sister is no longer living in Leeds", "User's sister works in Bristol"]),
        ("Leo's piano lesson got moved from Monday to Wednesday.",
         ["Leo's piano lesson got moved from Monday to Wednesday"]),
        ("Don't answer in Spanish any more, English is fine.", ["Don't answer in Spanish any more"]),
        ("Forget what I said about tabs: we use two spaces in this repo.",
         ["We use two spaces in this repo, not tabs"]),
    ],
)  # fmt: skip
def test_a_change_says_what_it_ends(said: str, kept: list[str]) -> None:
    assert contents(said) == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (["My supervisor is Prof. Haugen, she answers mails only on Thursdays."],
         ["User's supervisor is Prof. Haugen", "User's supervisor answers mails only on Thursdays"]),
        (["The vet said our dog Biscuit weighs 31 kg. He should get down to 27 kg."],
         ["The vet said our dog Biscuit weighs 31 kg", "Biscuit should get down to 27 kg"]),
        (["What should we see with a toddler?", "The aquarium.", "He loves fish."], ["The toddler loves fish"]),
        (["We have a new service. It's called Papagei. It is written in Go 1.23."],
         ["We have a new service", "The new service is called Papagei", "Papagei is written in Go 1.23"]),
        (["We hired two developers. They start on 1 March."],
         ["We hired two developers", "The two developers start on 1 March"]),
        (["Ahmed mentors Benedikt. They meet every Friday."],
         ["Ahmed mentors Benedikt", "Ahmed and Benedikt meet every Friday"]),
        (["I met with Dr. Chen from Globex. They need the export by June 2027."],
         ["User met with Dr. Chen from Globex", "Globex needs the export by June 2027"]),
        (["My laptop is a ThinkPad and I run Arch on it."],
         ["User's laptop is a ThinkPad", "User runs Arch on User's laptop"]),
        (["Our NAS has two disks. My partner's photos live there."],
         ["Our NAS has two disks", "User's partner's photos live there (our NAS)"]),
        (["I have a Labrador named Odin. His vet is Dr. Mbeki."],
         ["User has a Labrador named Odin", "Odin's vet is Dr. Mbeki"]),
        (["It only supports euros."], []),
        (["Could you look at the invoice module? It only supports euros."], ["The invoice module only supports euros"]),
        (["She lives in Kraków."], []),
    ],
)  # fmt: skip
def test_a_pronoun_is_what_was_named_before(said: list[str], kept: list[str]) -> None:
    found = contents(*said)
    if said[0].startswith("I met"):
        assert found[-1] in (kept[-1], "Dr. Chen and Globex need the export by June 2027")
    else:
        assert found == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ('Proofread please:\n\n"Dear Sir, I have lived at Rosewood Close for nine years. I work from home."', []),
        ("Is this ok: 'Me and him goes to market every day.'", []),
        ("Translate to German: I live in Paris. I have two cats.", []),
        ("What does this email want from me?\n\nHi Ana,\nI am free on Tuesdays. I live in Leeds.", []),
        ("See below.\n\nDear Mr Okafor,\nour engineer Steve lives near you.", []),
        ('A customer wrote:\n"I always use Safari.\nI live in Rome."', []),
        ("My character Elsbeth lives in a lighthouse. She is afraid of horses.", []),
        ("The character set of our database is latin1.", ["The character set of our database is latin1"]),
        ("My novel is set in Trieste in 1921.", ["User's novel is set in Trieste in 1921"]),
        ("Always write our name as 'Wiel & Co'.", ["Always write our name as 'Wiel & Co'"]),
        ('"I live in Rome and I have two cats," he said. I prefer tea.', ["User prefers tea"]),
        ("The slogan is 'Bread before noon' since 2019.", ["The slogan is 'Bread before noon' since 2019"]),
    ],
)
def test_what_is_quoted_is_nobodys_statement(said: str, kept: list[str]) -> None:
    found = extracted(said)
    assert [each.content for each in found.facts] == kept


def test_what_stands_beside_a_statement_is_left_out() -> None:
    assert contents("My daughter is in year three, right?") == []
    assert contents("My daughter is in year three, right, and she likes tea") == ["User's daughter likes tea"]
    assert contents("Nobody looks after it, the hook does that now.") == []
    assert contents("Certificates are signed by Let's Encrypt.") == ["Certificates are signed by Let's Encrypt"]
    assert contents("The API listens on 8443, 443 belongs to the proxy.") == [
        "The API listens on 8443", "443 belongs to the proxy"
    ]  # fmt: skip
    assert contents("I'm vegan, since spring I eat eggs.") == ["User is vegan", "Since spring User eats eggs"]
    assert contents("Since 1 May I've been working for Acme.") == ["Since 1 May User has been working for Acme"]


def test_a_quotation_is_one_part() -> None:
    dropped = extracted('Proofread please:\n\n"Dear Sir, I live in Rome. I work from home. Yours, B."').dropped
    assert [each.reason for each in dropped].count("quote") == 1
    assert without_quotes('She said "I live in Rome and like it".') == ("", ['She said "I live in Rome and like it".'])
    assert without_quotes('""') == ('""', [])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The limit is 100 req/s. My sister Lena maintains it.",
         ["The limit is 100 req/s.", "My sister Lena maintains it."]),
        ("Tokens live 20 min. Refresh tokens 30 days.", ["Tokens live 20 min.", "Refresh tokens 30 days."]),
        ("We go with plan B. We start in May.", ["We go with plan B.", "We start in May."]),
        ("I met J. Doe at Acme Inc. She left.", ["I met J. Doe at Acme Inc.", "She left."]),
        ("About approx. 120 m. It is in St. Mark's.", ["About approx. 120 m.", "It is in St. Mark's."]),
        ('He said "Stop. Now." Then he left.', ['He said "Stop. Now."', "Then he left."]),
        ("We run v2.3. It is old.", ["We run v2.3.", "It is old."]),
    ],
)  # fmt: skip
def test_where_a_sentence_ends(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("Yusuf looks after the tools and I do the newsletter", ["Yusuf looks after the tools", "I do the newsletter"]),
        ("I'm vegan, what should I cook?", ["I'm vegan", "what should I cook?"]),
        ("If we used Kafka, we'd need three brokers", ["If we used Kafka, we'd need three brokers"]),
        ("Our kids, Leo and Mina, finish at 15:30", ["Our kids, Leo and Mina, finish at 15:30"]),
        ("the flow, which Kwame built, is old", ["the flow, which Kwame built, is old"]),
        ("Won't work, our son is ill", ["Won't work", "our son is ill"]),
        ("For the queue, we chose NATS", ["For the queue, we chose NATS"]),
        ("I like tea", ["I like tea"]),
        ("", [""]),
    ],
)
def test_clauses(sentence: str, parts: list[str]) -> None:
    assert [each.text for each in clauses(sentence)] == parts


def test_spelling_and_leads() -> None:
    assert spelled("im sure they’ve dont  what cant\nbe") == "i'm sure they've don't what can't be"
    assert spelled("its only gonna rain, thats why i gotta go, i wanna") == (
        "it's only going to rain, that's why i have to go, i want to"
    )
    assert without_lead("ok, so btw remember that the port is 80") == (
        "the port is 80", "ok, so btw remember that", True
    )  # fmt: skip
    assert without_lead("ok!").rest == "ok!"


@pytest.mark.parametrize(
    ("clause", "read"),
    [
        ("in the staging cluster the API runs on port 80", ("in the staging cluster", "the API", "run", "present")),
        ("Last year I grew Crimson Crush", ("Last year", "I", "grow", "past")),
        ("My sister, Noor, cycles alongside", ("", "My sister, Noor", "cycle", "present")),
        ("Rows in export_daily.csv need care", ("", "Rows in export_daily.csv", "need", "present")),
        ("Half of the sensors report 0 °C", ("", "Half of the sensors", "report", "present")),
        ("the test runs are slow", ("", "the test runs", "be", "present")),
        ("we're going to move", ("", "we", "move", "future")),
        ("she's got two cats", ("", "she", "have", "present")),
        ("I have got to go", ("", "I", "go", "modal")),
        ("I had been there", ("", "I", "be", "perfect")),
        ("I do yoga", ("", "I", "do", "present")),
        ("you ought to know", ("", "you", "know", "modal")),
        ("PRs need two approvals", ("", "PRs", "need", "present")),
        ("we always pair", ("", "we", "pair", "present")),
    ],
)
def test_the_grammar_of_a_clause(clause: str, read: tuple[str, str, str, str]) -> None:
    found = parse(clause)
    assert found is not None
    assert (found.lead, found.subject, found.verb, found.tense) == read


@pytest.mark.parametrize("text", ["", "tea", "in Rome", "please stop", "only do it", "the", "and so on", "which is it"])
def test_no_clause(text: str) -> None:
    assert parse(text) is None


def test_forms_of_verbs() -> None:
    assert [with_s(each) for each in ("try", "play", "push", "run")] == ["tries", "plays", "pushes", "runs"]
    assert [with_ed(each) for each in ("move", "try", "stop", "play", "visit")] == [
        "moved", "tried", "stopped", "played", "visited"
    ]  # fmt: skip
    assert [with_ing(each) for each in ("move", "see", "run", "open")] == ["moving", "seeing", "running", "opening"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("He only reads texts, never email.", []),
        ("My landlord is Mr. Abernathy. He only reads texts, never email.",
         ["User's landlord is Mr. Abernathy", "User's landlord only reads texts, never email"]),
        ("I started night shifts at the bakery, 2 am to 10 am.",
         ["User started night shifts at the bakery, 2 am to 10 am"]),
        ("Actually wait, don't commit to main.", ["Don't commit to main"]),
        ("And no British spelling please.", ["No British spelling please"]),
        ("Nina took over the on-call rotation from Greg.", ["Nina took over the on-call rotation from Greg"]),
        ("We publish on Wednesdays, never right before a holiday.",
         ["We publish on Wednesdays, never right before a holiday"]),
        ("I like history. My husband likes the same.", ["User likes history"]),
        ("I cancelled FitBase.", ["User cancelled FitBase"]),
        ("Biscuit passed away in November.", ["Biscuit passed away in November (2025-11-01 to 2025-11-30)"]),
        ("Don't bother adding a changelog entry for each PR from now on.",
         ["Don't add a changelog entry for each PR from now on"]),
        ("My mother had a stroke at 59.", ["User's mother had a stroke at 59"]),
        ("Our son is going to Riverside instead of Hillcrest.", ["Our son is going to Riverside instead of Hillcrest"]),
    ],
)  # fmt: skip
def test_what_a_clause_says_is_whole(said: str, kept: list[str]) -> None:
    assert contents(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        "I suspect the new Kafka container.", "I can't sleep lately.", "Give me five bullet points.",
        "My daughter has to write an essay about Napoleon.", "My brother Paul is getting him a radio so not that.",
        "I only review.", "I stopped counting.", "I ordered an external disk.", "stg_shipments returns duplicates.",
        "Don't use a semicolon there.",
        "For the demo tomorrow please hardcode the user id, we throw it away after.",
        "For the demo tomorrow hardcode the user id.",
        "No problem please.",
    ],
)  # fmt: skip
def test_what_does_not_last_or_says_nothing_alone_is_left(said: str) -> None:
    assert contents(said) == []


def test_a_pronoun_after_a_short_reply_is_about_it() -> None:
    found = extracted("Here's the log, what's wrong?", "The pool is too small.", "We set it to 10 by contract.")
    assert [each.content for each in found.facts] == ["We set the pool to 10 by contract"]
