"""The rules that the pragmatic segmenter's English Golden Rules name, with inputs of our own.

`|` parts the sentences that are expected. Three rules are about text that was printed, not spoken; what differs and why
stands beside them.
"""

import pytest
from speech_text import IncrementalSentenceChunker

GOLDEN = [
    ("simple period", "The bus is late.| We can walk."),
    ("question mark", "Where is the key?| It was here."),
    ("exclamation point", "We won it!| Everyone cheered."),
    ("one-letter upper-case abbreviation", "The author is Maria K. Lund."),
    ("one-letter lower-case abbreviation", "Look at p. 12 of the guide."),
    ("two-letter lower-case abbreviation in mid sentence", "Did Tom and co. arrive on time?"),
    ("two-letter upper-case abbreviation in mid sentence", "The firm Hart, Bell & Co. opened a shop."),
    ("two-letter lower-case abbreviation at the end", "We wrote to Ann and co.| They have not replied."),
    ("two-letter upper-case abbreviation at the end", "He works for Hart, Bell & Co.| It pays well."),
    ("prepositive abbreviation", "The path up Mt. Etna is steep."),
    ("prepositive and postpositive abbreviations", "St. Anne's school stands on 9th st. near the park."),
    ("possessive abbreviation", "This is Ken Doe Jr.'s desk."),
    ("multi-period abbreviation in mid sentence", "We toured the U.S.A. by train."),
    ("multi-period abbreviation at the end", "Most people live in the E.U.| Why do you ask?"),
    ("U.S. at the end", "They moved to the U.S.| When did they leave?"),
    ("U.S. before a capital", "She joined the U.S. Senate in March."),
    ("U.S. before a small letter", "He stayed in the U.S. for a decade."),
    (
        "A.M. and P.M. at an end and in mid sentence",
        "At 6 a.m. Ms. Park left.| She came at 4 P.M.| Mr. Cho was out.",
    ),
    ("number inside", "It weighs 40.75 grams in all."),
    ("number at the end", "It weighs 40.75.| That is light."),
    ("parenthesis inside", "Our guide (He grew up here and knows it well.) took us round."),
    ("e-mail address", "Write to Lee.Kim@mail.example.org.| I read it daily."),
    ("web address", "It is at https://www.site.20.org/a-b/page_one.html.| Have a look."),
    ("single quotation marks inside", "He turned and said, 'That is mine.' to the boy."),
    ("double quotation marks inside", 'He turned and said, "That is mine." to the boy.'),
    ("double quotation marks at the end", 'He turned and said, "That is mine."| The boy ran.'),
    ("two exclamation points", "So good!!| Let us eat."),
    ("two question marks", "Really??| Who said so?"),
    ("exclamation and question", "You did what!?| Is that true?"),
    ("question and exclamation", "You did what?!| Is that true?"),
    ("list with stop and bracket, items without stops", "1.) Wash the rice| 2.) Boil the rice"),
    ("list with stop and bracket, items with stops", "1.) Wash the rice.| 2.) Boil the rice."),
    ("list with bracket, items without stops", "1) Wash the rice| 2) Boil the rice"),
    ("list with bracket, items with stops", "1) Wash the rice.| 2) Boil the rice."),
    ("list with stop, items without stops", "1. Wash the rice| 2. Boil the rice"),
    ("list with stop, items with stops", "1. Wash the rice.| 2. Boil the rice."),
    ("bulleted and numbered list", "• 9. Wash the rice| • 10. Boil the rice"),
    ("hyphen bullets", "⁃9. Wash the rice| ⁃10. Boil the rice"),
    ("alphabetical list", "a. Wash the rice| b. Boil the rice| c. Serve it"),
    # Printed pages break lines inside sentences; a model breaks them between, and a voice cannot wait to see which.
    ("newline inside a sentence (differs)", "The line was broken|\nhere by a page."),
    ("geographic coordinates", "It lies at N°. 2041.118.302.| Nobody goes there."),
    ("names with an exclamation point", "She wrote for Yahoo! in the nineties."),
    ("I at the end and as an initial", "They chose you and I.| Was Carl I. Berg there?"),
    ("ellipsis at the end of a quotation", "The page says, “and so the whole of it was lost. . . .”"),
    ("ellipsis with square brackets", '"Some [...] spoke of the long way home [...]" (Reed 12).'),
    ("ellipsis as a boundary (standard)", "Leave out the end and set the marks with a stop . . . .| Another one."),
    ("ellipsis as a boundary (non-standard)", "I did not mean it....| He was gone."),
    ("ellipsis inside", "I was not ... well, you see...you see . . . what I want to say . . . I was there."),
    # Dots that open a sentence say that words were left out before it. Nothing of that is heard, and a piece that
    # begins with a pause delays the voice: they stay with the sentence before.
    (
        "ellipsis of four dots (differs)",
        "A custom . . . was that of counting aloud. . . .| It was not lost. . . .",
    ),
]


def cut(text: str, language: str = "en") -> list[str]:
    chunker = IncrementalSentenceChunker(language)
    pieces = [piece for character in text for piece in chunker.feed(character)]
    return pieces + chunker.flush()


@pytest.mark.parametrize("marked", [marked for _, marked in GOLDEN], ids=[rule for rule, _ in GOLDEN])
def test_a_golden_rule_holds(marked: str) -> None:
    assert cut(marked.replace("|", "")) == [sentence.strip() for sentence in marked.split("|")]


def test_every_rule_has_its_row() -> None:
    assert len(GOLDEN) >= 48


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("en", "I agree.| hey, let me check.| one sec."),
        ("en", "It is approx. five miles.| Is that far?"),
        ("en", "It is in the bldg. next door.| Go on."),
        ("en", "He is ill.| Joan left.| Come with us.| Rob can."),
        ("en", "See `foo.bar()`.| Node.js is fine.| ASP.NET too.| Open main.py.| Then run it."),
        ("en", "She has a Ph.D. in maths.| It was Plan B.| It works."),
        ("en", "Call at 5 p.m. Monday or 6 p.m. EST.| Thanks."),
        ("en", "**Note:** read this.| **Bold.**| It is so.[1]| Next."),
        ("en", "✅ Fast|\n✅ Cheap"),
        ("en", "Done!\n🎉"),
        ("en", "“Hi.”| “Bye.”| (One.)| (Two.)"),
        ("en", "Is it?| - Yes."),
        ("en", "1.1. Scope of it\n|1.2. Terms"),
        ("en", "Wow‼️| See Fig. A and vol. I now.| Lt. Col. Ray left."),
        ("de", "Es beginnt am 3.5. um zehn.| Dr. med. Roth kommt am 5. Mai."),
        ("ja", "うーん…そうですね。|はい。"),
        ("es", "EE. UU. es grande.| Vive en EE. UU.| El Sr. D. Juan, p. ej. Ana, vino."),
        (
            "es",
            "Llega a las 5 p. m.| Luego se va.",
        ),
        ("fr", "« Bonjour. Ça va ? » dit-il.| « Oui. »| M. Le Pen, p. ex. Paris, etc.| C'est fini !"),
        ("de", "Er kam am 3. Oktober im 19. Jahrhundert.| Es sind 18."),
        (
            "de",
            "Danach ging Dr. Maier bzw. Herr Roth, z. B. heim.",
        ),
        ("de", "Sie sagte: „Halt. Sofort.“| Dann ging sie."),
        ("it", "Il sig. Neri, p.es. Roma, ecc.| Poi va.| È qui."),
        ("pt", "A Dra. Ana mora na Av. Central.| Ela é ótima!"),
        ("hi", 'डॉ. शर्मा आए।| वे ए. पी. जे. कलाम हैं।| "रुको। अभी।"| फिर गए।'),
        ("ja", "「はい。」と言った。|そうですか？|（注。）|次です。🎉|終わり。"),
        ("zh", "他说：“好的。”|然后走了。|真的吗？！|我用GPT-4.|是的。"),
    ],
)
def test_what_assistants_write_is_cut_where_people_breathe(language: str, marked: str) -> None:
    assert cut(marked.replace("|", ""), language) == [part.strip() for part in marked.split("|")]
