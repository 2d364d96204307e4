"""What a reply asks for, and what a follow-up means."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.answer import Confidence, JobResult, ResearchAnswer
from core.model.errors import InvalidQuery, JobNotFound
from core.model.job import LOCAL, TERMINAL_STATUSES, JobStatus, QuestionType, ResearchJob, ResearchRequest, Scope
from core.pipeline.conversation import (
    MAX_TURNS,
    ReadReply,
    Turn,
    conversation_of,
    following,
    needs_context,
    read_reply,
    read_turns,
    standalone_by_rules,
    stands_alone,
)
from core.presentation.follow_ups import follow_ups
from tests.fakes import NOW, make_deps, make_job
from tests.golden import samples

HERE, THERE = Scope("discord:1", "channel:2"), Scope("discord:1", "channel:3")


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("sources", ReadReply("sources")),
        ("  Show me the sources, please! ", ReadReply("sources")),
        (
            "What are the sources of nitrogen in rivers?",
            ReadReply("question", "What are the sources of nitrogen in rivers?"),
        ),
        ("sources of the Nile", ReadReply("question", "sources of the Nile")),
        ("improve", ReadReply("improve")),
        ("Improve this.", ReadReply("improve")),
        ("improve: name the years", ReadReply("improve", "name the years")),
        ("improve the answer by naming the years", ReadReply("improve", "naming the years")),
        ("improve name the years", ReadReply("improve", "name the years")),
        ("Improve sleep quality: how?", ReadReply("question", "Improve sleep quality: how?")),
        ("improvements in battery life", ReadReply("question", "improvements in battery life")),
        ("make it shorter", ReadReply("improve", "shorter")),
        ("Please make the answer a bit more precise.", ReadReply("improve", "a bit more precise.")),
        ("make it shorter?", ReadReply("question", "make it shorter?")),
        ("make it a short film", ReadReply("question", "make it a short film")),
        ("deeper", ReadReply("deeper")),
        ("go deeper into the costs", ReadReply("deeper", "the costs")),
        ("deeper neural networks train slower", ReadReply("question", "deeper neural networks train slower")),
        ("again", ReadReply("again")),
        ("ask again please", ReadReply("again")),
        ("retry", ReadReply("retry")),
        ("share this", ReadReply("share")),
        ("share prices in 2020", ReadReply("question", "share prices in 2020")),
        ("stop", ReadReply("cancel")),
        ("forget this", ReadReply("forget")),
        ("my history", ReadReply("history")),
        ("help!", ReadReply("help")),
        ("Settings", ReadReply("help")),
        ("Einstellungen", ReadReply("help")),
        ("settings of the router", ReadReply("question", "settings of the router")),
        ("", ReadReply("question", "")),
    ],
)
def test_words_are_told_from_questions(text: str, reply: ReadReply) -> None:
    """G-02, G-03: the same words on every platform; what only begins like one is a question."""
    assert read_reply(text) == reply


@pytest.mark.parametrize(
    ("words", "questions"),
    [
        ("help; help me; help please", "help needed; who can help me; help desk software"),
        ("Hilfe; hilf mir; Hilfe, bitte!", "Erste Hilfe; Hilfe bei Zahnschmerzen; Winterhilfe"),
        ("aide; Aidez-moi !; à l'aide, s'il vous plaît", "aide au logement; aide-soignante; aide de camp"),
        ("ayuda; ¡Ayuda!; ayúdame por favor", "ayuda humanitaria; primera ayuda; ayudante"),
        ("aiuto; aiutami; Aiuto, per favore!", "aiuto cuoco; aiuti di Stato"),
        ("ajuda; me ajuda; ajude-me, por favor", "ajuda externa; ajuda de custo"),
        ("hulp; help mij; hulp alsjeblieft", "eerste hulp; hulp bij verslaving; hulpdienst"),
    ],
    ids=["en", "de", "fr", "es", "it", "pt", "nl"],
)
def test_who_calls_for_help_gets_it_in_seven_languages(words: str, questions: str) -> None:
    """The words alone; a subject that has the word in its name is researched."""
    calls, subjects = words.split("; "), questions.split("; ")

    assert [read_reply(call).kind for call in calls] == ["help"] * len(calls)
    assert [read_reply(subject).kind for subject in subjects] == ["question"] * len(subjects)
    assert read_reply(f"{calls[0]}?") == ReadReply("question", f"{calls[0]}?")


@pytest.mark.parametrize(
    "kinds",
    [
        {"sources": "Quellen; quellen anzeigen, bitte; references", "forget": "vergiss das; Vergessen!"},
        {"retry": "Erneut versuchen; réessayer; Tentar de novo", "again": "noch einmal fragen; Opnieuw vragen"},
        {
            "deeper": "tiefer gehen; Approfondir; profundizar",
            "improve": "Verbessern; améliorer; Migliora",
            "share": "teilen",
        },
        {"sources": "fuentes; Mostra le fonti; bronnen", "forget": "oublie ça; olvídalo; vergeet het; esquecer"},
        {
            "references": "Bitte prüfe die Literaturangaben; prüfen Sie bitte meine Referenzen; "
            "Literaturliste überprüfen; vérifie les références; vérifiez la bibliographie, s'il vous plaît; "
            "revisa las referencias; comprueba mis referencias; controlla i riferimenti; verifica la bibliografia; "
            "verifique as referências; controleer de referenties; controleer mijn literatuurlijst"
        },
        {"question": "Prüfe die Referenzen der Bewerberin; vérifie les références de prix; controlla i prezzi"},
        {"question": "Quellen des Nils; Vergessen im Alter; verbessern Vitamine die Haut; fuentes de Roma"},
    ],
)
def test_what_a_button_says_is_a_word_in_seven_languages(kinds: dict[str, str]) -> None:
    """The words alone; a subject that has the word in its name is researched."""
    read = {kind: [read_reply(said).kind for said in words.split("; ")] for kind, words in kinds.items()}

    assert read == {kind: [kind] * len(words.split("; ")) for kind, words in kinds.items()}


def test_a_wish_may_follow_what_the_button_says() -> None:
    assert read_reply("Verbessern: nenne die Jahre") == ReadReply("improve", "nenne die Jahre")
    assert read_reply("tiefer gehen: die Kosten") == ReadReply("deeper", "die Kosten")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "thanks!",
            "Thank you so much",
            "thx 🙏",
            "ok",
            "OK, thanks",
            "👍",
            "❤️ 🙏",
            ":+1:",
            ":thumbsup::skin-tone-3:",
        ),
        *("great", "Great, thank you very much!", "cool 😎", "got it, thanks", "i see", "perfect.", "!!"),
        *(
            "Danke!",
            "vielen Dank für die Antwort",
            "alles klar",
            "super, danke dir",
            "Merci beaucoup !",
            "d’accord",
            "parfait",
        ),
        *(
            "¡Muchas gracias!",
            "vale, gracias",
            "Grazie mille",
            "va bene",
            "ottimo",
            "Muito obrigada!",
            "valeu",
            "tudo bem",
        ),
        *("Bedankt!", "oké", "dank je wel", "hartelijk dank voor het antwoord"),
    ],
)
def test_what_is_only_kind_is_no_question(text: str) -> None:
    """In seven languages, with and without pictures."""
    assert read_reply(text) == ReadReply("courtesy")


@pytest.mark.parametrize(
    ("greetings", "questions"),
    [
        ("hello; Hi there!; what can you do?; Who are you?", "hello world in C; hi-fi; what can you do with copper?"),
        ("Hallo!; guten Morgen; Was kannst du?", "Hallo Welt in C; guten Morgen auf Polnisch; Was kannst du essen?"),
        ("Bonjour !; que peux-tu faire ?", "bonjour tristesse; que peux-tu faire contre la toux ?"),
        ("¡Hola!; ¿Qué puedes hacer?", "hola en catalán; ¿quién eres en la Biblia?"),
        ("buongiorno; Cosa sai fare?", "buongiorno in sardo; cosa sai fare con la farina?"),
        ("Olá!; O que você pode fazer?", "olá em tupi; o que você pode fazer com farinha?"),
        ("hoi; Wat kun je doen?", "hoi polloi; wat kun je doen tegen muggen?"),
    ],
    ids=["en", "de", "fr", "es", "it", "pt", "nl"],
)
def test_who_greets_is_greeted_in_seven_languages(greetings: str, questions: str) -> None:
    """Nothing is searched for it; what only begins so is researched."""
    assert {read_reply(said).kind for said in greetings.split("; ")} == {"greeting"}
    assert {read_reply(said).kind for said in questions.split("; ")} == {"question"}


CALLED_WRONG = {
    "en": (
        "that is wrong; That's not right.; no, that's not right!; it isn't true; your answer is wrong; Are you sure?",
        "what is wrong with my car; that is wrong in which countries?; is that true of mice?; wrong turn (film)",
    ),
    "de": (
        "Das stimmt nicht; nein, das ist falsch!; stimmt so nicht; das ist doch nicht wahr; Bist du sicher?",
        "Was stimmt nicht mit meinem Auto; warum ist das falsch geschrieben; stimmt das Wetter?",
    ),
    "fr": ("C'est faux; non, ce n’est pas vrai !; tu te trompes; C'est vrai ?", "c'est faux en droit ?; faux amis"),
    "es": ("Eso no es cierto; no, es falso; está mal; ¿Estás seguro?", "¿es verdad que llueve?; falso positivo"),
    "it": ("Non è vero; no, è sbagliato!; ti sbagli; Sei sicuro?", "è vero che piove?; un falso amico"),
    "pt": ("Isso não é verdade; não, está errado; Tem certeza?", "é verdade que chove?; falso cognato"),
    "nl": ("Dat klopt niet; nee, dat is niet waar; Weet je het zeker?", "klopt het weerbericht?; wat is er fout"),
}


@pytest.mark.parametrize("language", CALLED_WRONG)
def test_who_says_that_an_answer_is_wrong_asks_nothing(language: str) -> None:
    """In seven languages; what goes on with a subject does."""
    words, questions = (said.split("; ") for said in CALLED_WRONG[language])

    assert {said: read_reply(said) for said in words} == dict.fromkeys(words, ReadReply("wrong"))
    assert {said: read_reply(said).kind for said in questions} == dict.fromkeys(questions, "question")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("That's wrong: it was built in 1889", "it was built in 1889"),
        ("Das stimmt nicht, er ist 330 Meter hoch", "er ist 330 Meter hoch"),
        ("C'est faux car il y en a deux", "car il y en a deux"),
        ("dat klopt niet – het zijn er twee", "het zijn er twee"),
    ],
)
def test_it_may_be_said_why_an_answer_is_wrong(said: str, reason: str) -> None:
    assert read_reply(said) == ReadReply("wrong", reason)


@pytest.mark.parametrize(
    "text",
    ["ok?", "???", "thanks, and what about Spain?", "Is it good", "Thanksgiving", "42", "good wine", "nice restaurants",
     "why thank a tree", "danke sagen auf Italienisch", "merci in English", "OK Corral", "super bowl", "great lakes"],
)  # fmt: skip
def test_what_only_begins_kindly_is_a_question(text: str) -> None:
    assert read_reply(text).kind == "question"


@given(st.text(max_size=200))
def test_a_reply_is_always_read_and_invents_nothing(text: str) -> None:
    """Any text is a reply; what it asks for was said."""
    reply = read_reply(text)

    assert " ".join(reply.rest.split()) in " ".join(text.split())
    assert reply.kind != "question" or reply.rest == text.strip()


CAPITAL = (Turn("What is the capital of Germany?", "Berlin."),)
TOWER = (Turn("How tall is the Eiffel Tower in Paris?", "330 metres."),)
SLEEP = (Turn("how does caffeine affect sleep", "It delays it."),)
LONE_TOWER = (Turn("How tall is the Eiffel Tower?", "330 metres."),)
SCHLAF = (Turn("Wie wirkt Koffein auf den Schlaf?", "Es verzögert ihn."),)
HAUPTSTADT = (Turn("Was ist die Hauptstadt von Deutschland?", "Berlin."),)
CAFEINA = (Turn("¿Cómo afecta la cafeína al sueño?", "Lo retrasa."),)
TURM = (Turn("Wie hoch ist der Eiffelturm?", "330 Meter."),)
CHIEF = (Turn("Who was the CEO of Apple in 2010?", "Steve Jobs."),)
GOD = (Turn("What did Einstein say about God?", "That He does not play dice."),)
PYTHON = (Turn("What is new in Python 3.12?", "Much."),)
COLI = (Turn("What does E. coli cause in cows vs. dogs?", "Colitis."),)
PHONE = (Turn("iPhone 15 vs. iPhone 14", "They differ."),)
CHAIN = (Turn("How does coffee act? And in men? Why? And then?", "It wakes."),)


@pytest.mark.parametrize(
    ("question", "turns", "understood"),
    [
        ("And France?", CAPITAL, "What is the capital of France?"),
        ("what about Italy?", CAPITAL, "What is the capital of Italy?"),
        ("How many people live there?", (), "How many people live there?"),
        ("When was it built?", TOWER, "When was the Eiffel Tower built?"),
        ("What is its weight?", TOWER, "What is the Eiffel Tower's weight?"),
        ("and in Blackpool?", TOWER, "How tall is the Eiffel Tower in Blackpool?"),
        ("Why?", SLEEP, "How does caffeine affect sleep? Why?"),
        ("and in children", SLEEP, "How does caffeine affect sleep? And in children?"),
        ("¿y en los niños?", CAFEINA, "¿Cómo afecta la cafeína al sueño? ¿Y en los niños?"),
        ("and in Blackpool?", LONE_TOWER, "How tall is the Eiffel Tower? And in Blackpool?"),
        ("what about the Louvre?", TOWER, "How tall is the Louvre in Paris?"),
        ("und bei Kindern?", SCHLAF, "Wie wirkt Koffein auf den Schlaf? Und bei Kindern?"),
        ("und Alkohol?", SCHLAF, "Wie wirkt Koffein auf den Schlaf? Und Alkohol?"),
        ("Und Frankreich?", HAUPTSTADT, "Was ist die Hauptstadt von Frankreich?"),
        ("Wann wurde er gebaut?", TURM, "Wie hoch ist der Eiffelturm? Wann wurde er gebaut?"),
        ("Explain that.", CHAIN, "How does coffee act? Why? And then? Explain that."),
        ("and Microsoft?", CHIEF, "Who was the CEO of Apple in 2010? And Microsoft?"),
        ("and Newton?", GOD, "What did Einstein say about God? And Newton?"),
        ("and of Newton?", GOD, "What did Einstein say about God? And of Newton?"),
        ("and about Newton?", GOD, "What did Einstein say about Newton?"),
        ("and in Rust?", PYTHON, "What is new in Python 3.12? And in Rust?"),
        ("and in cats?", COLI, "What does E. coli cause in cows vs. dogs? And in cats?"),
        ("price", PHONE, "iPhone 15 vs. iPhone 14? Price?"),
        ("How tall is Mount Everest?", TOWER, "How tall is Mount Everest?"),
        ("Is it safe to eat raw eggs in Japan?", TOWER, "Is it safe to eat raw eggs in Japan?"),
        ("How long does it take to boil a goose egg?", TOWER, "How long does it take to boil a goose egg?"),
        ("What is photosynthesis?", TOWER, "What is photosynthesis?"),
    ],
)
def test_a_follow_up_is_completed_from_the_last_question(
    question: str, turns: tuple[Turn, ...], understood: str
) -> None:
    """Pronouns and left-out words take what was asked last; a question that stands alone stays as it is."""
    assert standalone_by_rules(question, turns) == understood


PUMPS, PUMPEN, POMPES, BOMBAS, POMPE, BOMBAS_PT, POMPEN = (
    "How many heat pumps does Sweden have?",
    "Wie viele Wärmepumpen gibt es in Schweden?",
    "Combien de pompes à chaleur y a-t-il en Suède ?",
    "¿Cuántas bombas de calor hay en Suecia?",
    "Quante pompe di calore ci sono in Svezia?",
    "Quantas bombas de calor há na Suécia?",
    "Hoeveel warmtepompen zijn er in Zweden?",
)


@pytest.mark.parametrize(
    ("asked", "said", "understood"),
    [
        (PUMPS, "Sorry, I meant Norway", "How many heat pumps does Norway have?"),
        (PUMPS, "not Sweden, Norway", "How many heat pumps does Norway have?"),
        (PUMPS, "shorter please", f"{PUMPS} Shorter please?"),
        (PUMPS, "explain like I'm five", f"{PUMPS} Explain like I'm five?"),
        (PUMPS, "translate it to French", f"{PUMPS} Translate it to French?"),
        (PUMPS, "auf Deutsch bitte", f"{PUMPS} Auf Deutsch bitte?"),
        (PUMPS, "Explain point 2", f"{PUMPS} Explain point 2?"),
        (PUMPS, "for a family of four", f"{PUMPS} For a family of four?"),
        (PUMPEN, "Entschuldigung, ich meinte Norwegen", "Wie viele Wärmepumpen gibt es in Norwegen?"),
        (PUMPEN, "kürzer", f"{PUMPEN} Kürzer?"),
        (POMPES, "Pardon, je voulais dire la Norvège", f"{POMPES} Pardon, je voulais dire la Norvège?"),
        (POMPES, "plus court s'il te plaît", f"{POMPES} Plus court s'il te plaît?"),
        ("¿Qué escribió Cervantes?", "y Lope de Vega", "¿Qué escribió Lope de Vega?"),
        (BOMBAS, "perdón, quería decir Noruega", "¿Cuántas bombas de calor hay en Noruega?"),
        ("¿Cómo se hace el pan?", "sin gluten", "¿Cómo se hace el pan? Sin gluten?"),
        (POMPE, "scusa, intendevo la Norvegia", f"{POMPE} Scusa, intendevo la Norvegia?"),
        (POMPE, "senza gas", f"{POMPE} Senza gas?"),
        (BOMBAS_PT, "desculpa, quis dizer Noruega", "Quantas bombas de calor há na Noruega?"),
        (BOMBAS_PT, "mais curto", f"{BOMBAS_PT} Mais curto?"),
        (POMPEN, "sorry, ik bedoelde Noorwegen", "Hoeveel warmtepompen zijn er in Noorwegen?"),
        (POMPEN, "zonder gas", f"{POMPEN} Zonder gas?"),
        *((PUMPS, said, said) for said in ("photosynthesis", "Marie Curie", "in vitro fertilisation")),
        *((PUMPS, said, said) for said in ("explain to me how tides work", "Translate good morning to French")),
        (PUMPS, "In the US, who pays?", "In the US, who pays?"),
        (BOMBAS, "pan sin gluten casero", "pan sin gluten casero"),
        (BOMBAS, "para qué sirve ibuprofeno", "para qué sirve ibuprofeno"),
        (PUMPS, "in-flight wifi speed", "in-flight wifi speed"),
    ],
)
def test_what_is_said_behind_an_answer_is_of_its_question(asked: str, said: str, understood: str) -> None:
    """Whoever corrects a name, adds to the question or wants it told otherwise; a subject of its own is another one."""
    assert standalone_by_rules(said, (Turn(asked, "It is so."),)) == understood


@pytest.mark.parametrize("said", ["gluten free", "with milk instead of water", "best in Oslo"])
def test_a_remark_without_a_question_is_never_sure_to_stand_alone(said: str) -> None:
    """A model that knows the conversation decides."""
    assert not stands_alone(said)


FIRST_ASKED = {
    "en": "How is confidence scored?",
    "de": "Wie wird die Konfidenz berechnet?",
    "fr": "Comment la confiance est-elle calculée ?",
    "es": "¿Cómo se calcula la confianza?",
    "it": "Come si calcola la fiducia?",
    "pt": "Como se calcula a confiança?",
    "nl": "Hoe wordt het vertrouwen berekend?",
}


@pytest.mark.parametrize("language", FIRST_ASKED)
def test_offered_questions_are_asked_of_the_first_however_many_were_pressed(language: str) -> None:
    """Each of a language, pressed one after the other: both whole questions stand there, and no other."""
    first = FIRST_ASKED[language]
    said = first
    for kind in (None, *QuestionType):
        job = replace(samples.COMPLETED, intent=replace(samples.COMPLETED.intent, language=language))
        for offered in follow_ups(job, replace(samples.RESULT, question_type=kind)):
            said = standalone_by_rules(offered, (Turn(said, "It is so."),))

            gap = " : " if language == "fr" else ": "
            assert said == f"{offered.rstrip(' ?')}{gap}{first.lstrip('¿')}"


def test_what_is_written_after_an_offered_question_is_of_the_first() -> None:
    turns = (Turn("What speaks against this: how does caffeine affect sleep?", "Little."),)

    assert standalone_by_rules("Why?", turns) == "How does caffeine affect sleep? Why?"


@given(st.text(max_size=80), st.lists(st.builds(Turn, st.text(max_size=80), st.text(max_size=40)), max_size=7))
def test_what_stands_alone_is_never_changed(question: str, turns: list[Turn]) -> None:
    """Nor is anything where nothing was said before."""
    understood = standalone_by_rules(question, turns)

    assert understood == question or (turns and needs_context(question, turns[-1].question))


async def told(count: int, *, scope: Scope = HERE, thread: str = "discord:2", start: int = 0) -> list[ResearchJob]:
    return [
        replace(
            make_job(f"Question {number}?", id=f"job_{scope.visibility}_{number}", scope=scope, thread=thread),
            status=JobStatus.COMPLETED,
            created_at=NOW + timedelta(minutes=number),
        )
        for number in range(start, start + count)
    ]


@pytest.mark.parametrize("count", [0, 1, 5, 8])
async def test_never_more_than_five_turns_oldest_first(count: int) -> None:
    """The last five questions with their answers, without markers, as they were understood."""
    deps = make_deps()
    for job in await told(count):
        answer = ResearchAnswer(f"Answer to {job.query} [1]", "", Confidence.HIGH)
        await deps.jobs.finish(job, JobResult(answer, understood=f"Full {job.query}"))
    now = replace(make_job("and then?", scope=HERE, thread="discord:2"), created_at=NOW + timedelta(hours=1))

    turns = await read_turns(now, deps)

    first = max(0, count - MAX_TURNS)
    assert [turn.question for turn in turns] == [f"Full Question {number}?" for number in range(first, count)]
    assert all("[1]" not in turn.answer for turn in turns)


async def test_what_has_no_answer_was_asked_all_the_same() -> None:
    """A follow-up leans on a question that failed, or is still researched; no more on one that was cancelled."""
    deps = make_deps()
    statuses = [JobStatus.FAILED, JobStatus.CANCELLED, JobStatus.FAILED, JobStatus.COMPLETED, JobStatus.SEARCHING]
    asked = ["How tall is it?", "Who broke it?", "Who built it?", "Who built it?", "Who owns it?"]
    for past, query, status in zip(await told(5), asked, statuses, strict=True):
        job = replace(past, status=status, request=replace(past.request, query=query))
        answer = ResearchAnswer("Smeaton.", "", Confidence.HIGH) if status is JobStatus.COMPLETED else None
        await (
            deps.jobs.finish(job, JobResult(answer))
            if status in TERMINAL_STATUSES
            else deps.jobs.save(job, dedupe_key="")
        )
    now = replace(make_job("and then?", scope=HERE, thread="discord:2"), created_at=NOW + timedelta(hours=1))

    turns = [Turn("How tall is it?", ""), Turn("Who built it?", "Smeaton."), Turn("Who owns it?", "")]
    assert await read_turns(now, deps) == tuple(turns)


async def test_another_scope_and_what_came_later_are_not_heard() -> None:
    """The same thread key in another channel is another conversation; the future has not been said."""
    deps = make_deps()
    answer = JobResult(ResearchAnswer("A.", "", Confidence.HIGH))
    for job in [*await told(2, scope=THERE), *await told(1, start=90), *await told(1, thread="discord:7")]:
        await deps.jobs.finish(job, answer)
    now = replace(make_job("and then?", scope=HERE, thread="discord:2"), created_at=NOW + timedelta(hours=1))

    assert await read_turns(now, deps) == ()
    assert await read_turns(replace(now, request=replace(now.request, thread="")), deps) == ()


async def test_what_follows_an_answer_hears_it_and_what_followed_before() -> None:
    """N-29: also where the answer stood in no conversation; the page lists all of it, from any of its questions."""
    deps = make_deps()
    first = replace(
        make_job("How tall is it?", id="job_first", scope=LOCAL), status=JobStatus.COMPLETED, created_at=NOW
    )
    await deps.jobs.finish(first, JobResult(ResearchAnswer("49 metres.", "", Confidence.HIGH)))
    asked = following(first, ResearchRequest("And how old?"))
    second = replace(
        make_job("And how old?", id="job_second", scope=LOCAL, thread=asked.thread),
        status=JobStatus.COMPLETED,
        created_at=LATER,
    )
    await deps.jobs.finish(second, JobResult(ResearchAnswer("It was built in 1882.", "", Confidence.HIGH)))
    third = replace(second, id="job_third", created_at=LATER + timedelta(hours=9))
    await deps.jobs.save(third)

    heard = await read_turns(third, deps)

    assert [turn.answer for turn in heard] == ["49 metres.", "It was built in 1882."]
    again = replace(third, request=replace(following(first, ResearchRequest("Who built it?")), asker=""))
    assert [turn.answer for turn in await read_turns(again, deps)] == ["49 metres."]
    for one in (first, second, third):
        listed = await conversation_of(one, deps.jobs, now=third.created_at + timedelta(hours=1))
        assert [job.id for job in listed] == ["job_first", "job_second", "job_third"]
    assert following(second, ResearchRequest("Why?")).thread == asked.thread
    of_papers = replace(first, request=replace(first.request, modes=("library",)))
    assert following(of_papers, ResearchRequest("Why?")).modes == ("library",)
    assert following(of_papers, ResearchRequest("Why?", modes=("deep",))).modes == ("deep",)


async def test_a_follow_up_is_as_private_as_what_it_follows_and_stays_in_its_house() -> None:
    """Who may read one question of a conversation may read all of them."""
    private = make_job("How tall?", scope=Scope("local", "user:7"))
    private = replace(private, request=replace(private.request, is_private=True))
    asked = following(private, ResearchRequest("Why?"))

    assert (asked.scope, asked.is_private) == (private.scope, True)
    with pytest.raises(InvalidQuery, match="open"):
        following(make_job("How tall?", scope=LOCAL), ResearchRequest("Why?", is_private=True))
    with pytest.raises(InvalidQuery, match="open"):  # with files, which only the asker is to see
        following(make_job("How tall?", scope=LOCAL), ResearchRequest("Why?", scope=Scope("local", "user:7")))
    with_files = make_job("How tall?", scope=LOCAL)
    with_files = replace(with_files, request=replace(with_files.request, attachments=("a.txt",)))
    assert following(with_files, ResearchRequest("Why?")).is_private
    with pytest.raises(JobNotFound):
        following(make_job("How tall?", scope=HERE), ResearchRequest("Why?"))
    assert await conversation_of(make_job("How tall?", scope=HERE, thread="discord:2"), make_deps().jobs, now=NOW) == []


LATER = NOW + timedelta(minutes=5)
DIRECT = Scope("discord:1", "user:7")


async def heard_in(scope: Scope, thread: str, questions: list[tuple[int, str]], asked_at: int) -> list[str]:
    """The questions that a follow-up asked in this minute hears; each earlier one was asked at its minute."""
    deps = make_deps()
    for minute, question in questions:
        at = NOW + timedelta(minutes=minute)
        job = make_job(question, id=f"job_{minute}", scope=scope, thread=thread, channel=CHANNELS.get(scope, ""))
        answer = ResearchAnswer(f"It is so: {question}", "", Confidence.HIGH)
        done = replace(job, status=JobStatus.COMPLETED, created_at=at, completed_at=at)
        await deps.jobs.finish(done, JobResult(answer))
    now = make_job("and why?", id="job_now", scope=scope, thread=thread, channel=CHANNELS.get(scope, ""))
    turns = await read_turns(replace(now, created_at=NOW + timedelta(minutes=asked_at)), deps)
    return [turn.question for turn in turns]


CHANNELS = {HERE: "2"}
TIDES, SPRING = "What causes the tides?", "When are the tides highest?"
PERU = "What is the capital of Peru?"


@pytest.mark.parametrize(
    ("scope", "thread", "questions", "asked_at", "heard"),
    [
        pytest.param(DIRECT, "discord:2", [(0, TIDES)], 29, [TIDES], id="within half an hour"),
        pytest.param(DIRECT, "discord:2", [(0, TIDES)], 31, [], id="lapsed"),
        pytest.param(DIRECT, "discord:2", [(0, TIDES), (40, SPRING)], 45, [SPRING], id="lapsed in between"),
        pytest.param(DIRECT, "discord:2", [(0, TIDES), (20, SPRING)], 45, [TIDES, SPRING], id="going on"),
        pytest.param(DIRECT, "discord:2", [(0, TIDES), (2, PERU)], 4, [PERU], id="a new topic"),
        pytest.param(DIRECT, "discord:2", [(0, PERU), (2, "And of Chile?")], 4, [PERU, "And of Chile?"], id="its own"),
        pytest.param(DIRECT, "slack:D1:17.1", [(0, TIDES), (2, PERU)], 90, [TIDES, PERU], id="a thread is not"),
        pytest.param(HERE, "discord:2", [(0, TIDES), (2, PERU)], 90, [TIDES, PERU], id="nor a channel's"),
    ],
)
async def test_a_conversation_in_direct_messages_lapses(
    scope: Scope, thread: str, questions: list[tuple[int, str]], asked_at: int, heard: list[str]
) -> None:
    """After thirty minutes of silence, or with a question that stands alone and shares no word with what was said."""
    assert await heard_in(scope, thread, questions, asked_at) == heard
