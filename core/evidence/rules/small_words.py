"""Vetoes by small words that one side alone has: denials, hedges, limits, quantifiers, tense, speaker and subject."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import regex

from core.evidence.rules.alignment import (
    HALF,
    MIN_KEPT,
    Comparison,
    Force,
    Rule,
    Veto,
    is_plural,
)
from core.evidence.rules.quantities import EACH_TIME, shares
from core.evidence.rules.words import (
    ARTICLES,
    Kind,
    Reading,
    Token,
    is_irregular_past,
    listed,
    match_tokens,
    pattern,
    read,
)
from core.evidence.verbatim import points_back
from core.text.language import KNOWN, Cue, detect_language, negations
from core.text.sentences import sentences_of

_CONTRAST, _NOT_ALONE = pattern("contrast"), pattern("not_alone")


def check_language(pair: Comparison) -> Iterator[Veto]:
    """Elsewhere the judge decides what denies, but where a word is all that may; a denial in one alone is doubted."""
    if pair.language not in KNOWN:
        force = Force.DOUBTS if pair.is_edited or detect_language(pair.claim.text) in KNOWN else Force.ASKS
        yield Veto("language", force, "its language is not one whose denials are known")
    elif pair.is_translated:
        there = detect_language(pair.home.text)
        ours, theirs = denials(pair.claim, pair.language), denials(pair.home, there)
        if len(pair.home.content) > LONGER * len(pair.claim.content):
            theirs = ()  # it may deny something else
        for cue in (Cue.HEDGE, Cue.CONDITION):
            kept = any(kind.first(pair.language, pair.claim.text) for kind in _KINDRED[cue])
            said = cue.first(there, pair.home.text[:LEADING])
            if not kept and there in KNOWN and said and said.lower() not in _TEMPORAL:
                yield Veto(cue.value, Force.DOUBTS, f'the source says "{said}"')
                return
        is_new = ours and not theirs and not any(_is_negative(token, there) for token in read(pair.passage).tokens)
        if there in KNOWN and (is_new or (theirs and not ours)):
            force = Force.DOUBTS if theirs else pair.unfound
            yield Veto("negation", force, f"the source {'denies something' if theirs else 'denies nothing'}")


LONGER = 1.6  # times the claim's content words; a longer sentence in another language says more than the claim
_TEMPORAL = frozenset("until bis hasta jusqu'à até tot fino could".split())  # in another language perhaps no condition
LEADING = 60  # characters of a sentence in another language, which a condition there governs
REACH = 3  # content words after a negation that it may deny
_FAILING = regex.compile(
    r"fail(?:s|ed|ing)?|lack(?:s|ed|ing)?|absen(?:t|ce)|unable|never|nowhere|zero", regex.IGNORECASE
)
_NEGATIVE = pattern("negative", is_cased=True)


def _check_negation(pair: Comparison) -> Iterator[Veto]:
    """A negation on one side only, of a word that both sides have; two make none."""
    ours, theirs = [*denials(pair.claim, pair.language)], [*denials(pair.home, pair.language)]
    found = _NOT_ALONE.search(pair.claim.text)
    if found and not Cue.ONLY.first(pair.language, pair.home.text):
        at = len(denials(read(pair.claim.text[: found.start()]), pair.language))
        del ours[at : at + 1]  # that there are others denies nothing, unless it is said to be alone
    if theirs and _OF_THEM.search(pair.claim.text):
        return  # they stand in the sentence before
    if not ours and (denied_before := _denied_before(pair)) is not None:
        yield Veto("negation", Force.DOUBTS, f'the source denies "{denied_before.text}" before it')
    for scope in list(ours):
        same = [other for other in theirs if other[0].stem == scope[0].stem]
        answer = next((other for other in (*same, *theirs) if _is_answer(pair, scope, other)), None)
        if answer is not None:
            ours.remove(scope)
            theirs.remove(answer)
    is_whole = len(pair.claimed) >= MIN_KEPT and all(word in pair.claimed for word in pair.home.content)
    is_near = pair.is_mostly or is_whole
    added = [scope for scope in ours if any(word in pair.partner for word in scope)]
    is_foreign = pair.language != "en"  # where a negation may stand far from what it denies
    denied = {word for scope in denials(pair.home, pair.language) for word in scope}
    undenied = (word for word in pair.home.content if word not in denied)
    also = {word.stem for word in undenied} if _ITEM.search(pair.home.text) else set()
    dropped = [
        scope
        for scope in theirs
        if any(
            (word in pair.claimed and word.stem not in also) or (is_foreign and pair.claim.match(word))
            for word in scope
        )
    ]
    if (len(added) + len(dropped)) % 2 == 0:
        if ours and not theirs and not any(_is_negative(token, pair.language) for token in pair.wider.tokens):
            yield Veto("negation", Force.DOUBTS, f'the source denies nothing, the claim "{ours[0][0].text}"')
        return
    said_so = [match.group() for match in _REVERSED.finditer(pair.claim.text)]
    if (
        not is_near
        or (dropped and any(one[:5].lower() not in pair.home.text.lower() for one in said_so))
        or (
            added
            and any(
                token.is_content and _is_negative(token, pair.language)
                for token in _around(pair, added[0])
                if token not in pair.claimed
            )
        )
    ):
        return
    certain = not _CONTRAST.search(pair.home.text) and len(pair.home.content) <= 2 * len(pair.claim.content)
    denying = [word for word in pair.missing if pair.in_place_of(word, lambda other: is_denying(other, pair.language))]
    denying += [word for word in pair.missing if is_denying(word, pair.language)]
    force = pair.force(denying) if certain else Force.DOUBTS
    if added:
        yield Veto("negation", force, f'the source does not deny "{added[0][0].text}"')
    else:
        yield Veto("negation", force, f'the source denies "{dropped[0][0].text}"')


def _denied_before(pair: Comparison) -> Token | None:
    """A word of the claim that is denied in the sentence before the home, which points back: These include tax law."""
    if not points_back(pair.home.text):
        return None
    last = sentences_of(pair.ahead)[-1:]
    scopes = denials(read(last[0].text), pair.language) if last else []
    return next((scope[0] for scope in scopes if pair.claim.match(scope[0]) and not pair.home.match(scope[0])), None)


_ITEM = regex.compile(r"\b\p{Nd}\)|;\s")  # of several
_OF_THEM = regex.compile(r"\b(?:neither|none) of (?:them|these|those|the two)\b", regex.IGNORECASE)
_REVERSED = pattern("reversed")


def _around(pair: Comparison, scope: Sequence[Token]) -> list[Token]:
    """The home's words about the place of what the claim denies."""
    places = [pair.home.positions[pair.partner[word]] for word in scope if word in pair.partner]
    return list(pair.home.tokens[max(0, min(places) - NEGATIVE_REACH) : max(places) + NEGATIVE_REACH])


NEGATIVE_REACH = 9  # tokens


@lru_cache(maxsize=256)
def denials(reading: Reading, language: str) -> tuple[Sequence[Token], ...]:
    """For each negation the content words it may deny, nearest first; in English two in a row cancel out.

    English denies what follows; elsewhere the negation may stand behind the verb, and two may be one.
    """
    scopes: list[list[Token]] = []
    tokens = reading.tokens
    last = -9
    for at in range(len(tokens)):
        if not _is_cue(reading, at, language):
            continue
        after = [word for word in tokens[at + 1 : at + 9] if word.is_content and not is_denying(word, language)][:REACH]
        rest = range(at + 1, min(at + 9, len(tokens))) if language == "en" else ()
        ends = [tokens[place].start for place in rest if _is_cue(reading, place, language)][:1]
        after = [word for word in after if not ends or word.start < ends[0]] or after  # the next denies on its own
        if language == "en":
            if scopes and at - last <= 2:
                scopes.pop()
            else:
                scopes.append(after or [word for word in tokens[:at] if word.is_content][-1:])
        elif at - last > 4:
            around = [word for word in tokens[:at] if word.is_content][-REACH:][::-1]
            scopes.append([word for pair in zip(around, after, strict=False) for word in pair] or around or after)
        last = at
    return tuple(scope for scope in scopes if scope)


def _is_cue(reading: Reading, at: int, language: str) -> bool:
    if not is_denying(reading.tokens[at], language):
        return False
    before = [token.text.lower() for token in reading.tokens[max(0, at - 5) : at]]
    lower = reading.tokens[at].text.lower()
    is_near = before[-1:] in (["near"], ["nearly"], ["equals"])
    is_numeral = lower == "zero" and before and (is_near or not reading.tokens[at - 1].is_content)  # a zero, below zero
    if is_numeral or "than" in before or (lower == "nor" and "neither" in before):
        return False  # of those it is compared with; neither … nor is one
    following = [token.text.lower() for token in reading.tokens[at + 1 : at + 10]]
    is_limit = any(one in _BOUNDS and then == "than" for one, then in pairwise(following))  # none is larger than 3
    is_limit = is_limit or _NOBODY_ELSE.match(reading.text, reading.tokens[at].start) is not None
    next_one = following[0] if following else ""
    return not (is_limit or (next_one.isdigit() and lower == "no") or next_one in listed("no_denial"))  # No. 5


_NOBODY_ELSE = regex.compile(
    r"(?:no(?:body|thing|ne)?|niemand|nadie|personne)(?: \p{L}+)? (?:but|except|außer|salvo|sauf)\b", regex.I
)
_BOUNDS = frozenset("later less fewer more sooner longer earlier larger higher greater older smaller lower".split())


def is_denying(token: Token, language: str) -> bool:
    """Whether the word denies; in English also by itself or by its meaning: isn't, lacks, unable."""
    lower = token.text.lower().replace("’", "'")
    if lower in negations(language) or (language == "fr" and lower.startswith("n'")):
        return True
    return language == "en" and (lower.endswith("n't") or _FAILING.fullmatch(lower) is not None)


def _is_negative(token: Token, language: str) -> bool:
    return is_denying(token, language) or _NEGATIVE.fullmatch(token.text.lower()) is not None


def _is_answer(pair: Comparison, ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Whether the home denies what the claim denies: a word of it, in the clause of it (not of A, B or C), or another.

    Another is one that the claim has not, where the home has not the claim's: not usable, not able to be analysed.
    """
    said, first = {pair.partner.get(word) for word in ours}, pair.partner.get(ours[0])
    if any(word in said for word in theirs) or not (pair.home.match(ours[0]) or pair.claim.match(theirs[0])):
        return True
    is_same_word = ours[0].stem == theirs[0].stem and not _CONTRAST.search(pair.home.text)
    if is_same_word or first is None or first.start < theirs[0].start:
        return is_same_word
    return not _CONTRAST.search(pair.home.text, theirs[0].start, first.start)


# What the source limits, doubts or ascribes to somebody

_KINDRED = {
    Cue.HEDGE: (Cue.HEDGE, Cue.SAID),
    Cue.SAID: (Cue.SAID, Cue.HEDGE, Cue.DENIED),
    Cue.DENIED: (Cue.DENIED,),
    Cue.ONLY: (Cue.ONLY,),
    Cue.CONDITION: (Cue.CONDITION, Cue.HEDGE, Cue.LIMIT),
    Cue.LIMIT: (Cue.LIMIT, Cue.MOST),
}  # a cue of the source is kept by any of these in the claim
_TELLING = pattern("telling")


def _check_limits(pair: Comparison) -> Iterator[Veto]:
    """A word by which the source limits, denies or ascribes what the claim repeats without it."""
    if pair.alignment.matched < HALF:
        return
    for cue, kin in _KINDRED.items():
        if any(kind.first(pair.language, pair.claim.text) for kind in kin):
            continue
        if cue is Cue.DENIED and denials(pair.claim, pair.language):
            continue
        if cue in (Cue.SAID, Cue.CONDITION) and _TELLING.search(pair.claim.text):
            continue
        for match in cue.find(pair.language, pair.home.text):
            if cue is Cue.HEDGE and _COMPARED.search(pair.home.text, 0, match.end()):
                continue  # more likely, among likely voters; the Gaia hypothesis
            if cue is Cue.DENIED and _CONFIRMED.match(pair.home.text, match.end()):
                continue  # the rumours are indeed true
            is_done = _HAVE_DONE.match(pair.home.text, match.end())
            if match.group().lower() == "may" and _CAN.search(pair.claim.text) and not is_done:
                continue  # what is allowed
            if " " in match.group() and match.group().lower().replace(" ", "") in pair.claim.text.lower():
                continue  # under ground, underground
            if _bears(pair, cue, match.span()):
                is_myth = cue is Cue.DENIED and pair.language == "en" and pair.is_close
                is_soft = cue is Cue.HEDGE and match.group().lower() not in listed("modal")
                is_open = is_soft and not pair.is_mostly
                force = pair.force([]) if is_myth else Force.ASKS if is_open else Force.DOUBTS
                yield Veto(cue.value, force, f'the source says "{match.group()}"')
                break


_CONFIRMED = regex.compile(r" (?:is|are|was|were|proved|turned out)(?: \p{L}+)? (?:true|right|confirmed)\b")
_CAN = regex.compile(r"\b(?:can|able|allow\w*|permit\w*)\b", regex.IGNORECASE)
_HAVE_DONE = regex.compile(
    r" (?:\p{L}+ly )?have (?:been|had|gone|\p{L}+(?:ed|en|wn))\b", regex.IGNORECASE
)  # may have died
_COMPARED = regex.compile(
    r"\b(?:more|less|most|least|equally|as|among|of) likely$|(?-i:\p{Lu}\p{L}+(?: \p{Ll}+)?) hypothes[ei]s$",
    regex.IGNORECASE,
)
_IS = regex.compile(
    r"\W*(?:(?:he|she|they|it|the \p{L}+|\p{Lu}\p{L}+)\W+)?(?:(?:is|are|was|were|ist|sind|war|est|sont|es|son|è|é)\W+)?"
    r"(?:(?:an?|the|just|only|ein|une?|una|uma?)\W+)?"
)  # what may stand between a sentence and the word that denies it: "… is a myth", "…, the mayor denied"


def _bears(pair: Comparison, cue: Cue, span: tuple[int, int]) -> bool:
    is_small = pair.home.text[: span[1]][-4:].lower() == "only" and _is_before_number(pair.home, span[1])
    is_no_limit = is_small or _is_denied(pair.home, span[0], pair.language) or _is_compared(pair.home, span)
    is_no_limit = cue is Cue.ONLY and is_no_limit  # only 3; not only; than with salve alone
    if is_no_limit or not pair.claimed or any(span[0] <= word.start < span[1] for word in pair.claimed):
        return False
    if cue in (Cue.SAID, Cue.DENIED):
        last = max(word.end for word in pair.claimed)
        is_behind = pair.is_close and last <= span[0] and _IS.fullmatch(pair.home.text, last, span[0]) is not None
        return pair.governs(span[1]) or is_behind
    reach = 10 if pair.home.text.lower().startswith("among", span[0]) else 2  # characters: all the
    if cue is Cue.LIMIT and any(0 <= word.start - span[1] <= reach for word in pair.claimed):
        return False  # said of the same, with another small word
    if cue is Cue.CONDITION or cue is Cue.LIMIT:
        words = pair.home.text[slice(*span)].split()
        is_led = words[-1][0].isupper() and ARTICLES.isdisjoint(words)  # under Captain Cook, not under the Harbour Act
        return pair.is_close and not is_led and pair.has_near(span, back=2, ahead=2)
    clause = _WHICH.search(pair.home.text, span[1])
    if clause and 2 * sum(word.start > clause.start() for word in pair.claimed) > len(pair.claimed):
        return False  # of something that the clause tells more about
    is_behind_it = cue is Cue.ONLY and pair.home.text[: span[1]].lower().endswith("alone")  # she builds it alone
    leads_on = pair.home.text[: span[1]].lower().endswith(" to")  # who wanted to: of what follows alone
    leads_on |= cue is Cue.HEDGE and pair.home.text[: span[0]].endswith(", ")  # rivals, perhaps soldiers
    return pair.has_near(span, back=0 if leads_on else 1, ahead=0 if is_behind_it else 3)


_WHICH = regex.compile(r", (?:which|who|whose|where)\b")


def _check_added_cues(pair: Comparison) -> Iterator[Veto]:
    """A claim that denies or limits what its source does not, or another word of it."""
    for cue in (Cue.DENIED, Cue.ONLY):
        match = next(cue.find(pair.language, pair.claim.text), None)
        if match is None or _is_denied(pair.claim, match.start(), pair.language):
            continue
        is_exception = cue is Cue.ONLY and _EXCEPTION.match(match.group()) is not None
        if cue is Cue.ONLY and _is_compared(pair.claim, match.span()):
            continue
        if _STRESSED.match(pair.claim.text, match.end()) or _is_before_number(pair.claim, match.end()):
            continue
        if any(token.text.lower() in negations(pair.language) for token in pair.home.tokens):
            continue
        is_said = bool(cue.first(pair.language, pair.wider.text))
        if cue is Cue.ONLY and is_said and not is_exception:
            is_said = any(_limits_same(pair, match.span(), reading) for reading in (pair.home, pair.wider))
        if not is_said and not any(pair.wider.match(token) for token in read(match.group()).content):
            excepted = _beside(pair.claim, match.span(), back=0, ahead=9) if is_exception else []
            is_known = bool(excepted) and all(
                pair.wider.match(word) for word in excepted
            )  # of which it may say another
            force = Force.ASKS if is_known else pair.unfound if cue is Cue.ONLY else Force.DOUBTS
            yield Veto(cue.value, force, f'the source does not say "{match.group()}"')


_STRESSED = pattern("stressed")
_EXCEPTION = regex.compile(
    r"exce|exclud|apart|aside|other|außer|aus[gn]|abges|sauf|hormis|à|salvo|tranne|ecce|behalve|uitg|uitz", regex.I
)


def _check_certainty(pair: Comparison) -> Iterator[Veto]:
    """A claim that something is proven, where the source says so nowhere or only that it may be."""
    match = _CERTAIN.search(pair.claim.text)
    if match and not Cue.HEDGE.first("en", pair.claim.text) and not _CERTAIN.search(pair.wider.text):
        yield Veto("hedge", Force.DOUBTS, f'the source does not say "{match.group()}"')


_CERTAIN = pattern("certain")


def _is_denied(reading: Reading, at: int, language: str) -> bool:
    """Whether a negation stands right before: not only."""
    return bool(negations(language).intersection(reading.text[:at].lower().split()[-1:]))


def _is_compared(reading: Reading, span: tuple[int, int]) -> bool:
    """Whether it ends what something is compared with, which it limits alone: more than with salve alone."""
    is_end = reading.text[span[1] :].lstrip(' )"”')[:1] in ("", *_CLAUSE_MARKS)
    return is_end and _THAN.search(reading.text, 0, span[0]) is not None


_THAN = regex.compile(r"\b(?:than|versus|vs|compared (?:with|to))\b[^,.;:]*$", regex.IGNORECASE)


def _limits_same(pair: Comparison, span: tuple[int, int], reading: Reading) -> bool:
    """Whether a limit of the text stands beside a word that the claim's stands beside, too."""
    limited = _beside(pair.claim, span, back=0, ahead=1 + (pair.language == "en"))
    return any(
        match_tokens(word, other)
        for found in Cue.ONLY.find(pair.language, reading.text)
        for other in _beside(reading, found.span(), back=2 if found.group().lower() in listed("only") else 9, ahead=3)
        for word in limited
    )


def _beside(reading: Reading, span: tuple[int, int], *, back: int, ahead: int) -> list[Token]:
    """The content words around a small one, within its clause."""
    first = max(reading.text.rfind(mark, 0, span[0]) for mark in _CLAUSE_MARKS)
    last = min(
        (at for mark in _CLAUSE_MARKS if (at := reading.text.find(mark, span[1])) >= 0), default=len(reading.text)
    )
    before = [word for word in reading.content if first < word.start and word.end <= span[0]]
    return (
        before[max(0, len(before) - back) :]
        + [word for word in reading.content if span[1] <= word.start < last][:ahead]
    )


_CLAUSE_MARKS = ".,;:!?\n"


def _check_dropped_phrases(pair: Comparison) -> Iterator[Veto]:
    """A copy of the sentence that leaves out for whom or under what it holds."""
    if not pair.differs_only_in([]):
        return
    for word in pair.alignment.spare:
        lead = [small for small in pair.home.lead(word) if small not in _POINTING]
        if word.kind is not Kind.WORD or not lead or lead[-1] not in _PREPOSITIONS:
            continue
        before = [other for other in pair.home.content if other.end <= word.start]
        is_held = not before or before[-1] in pair.claimed
        if is_held and (lead[-1] not in _WHERE or is_plural(word)):
            force = Force.ASKS if lead[-1] in _WHERE else Force.DOUBTS
            yield Veto("limit", force, f'the source says "{lead[-1]} … {word.text}"')
            return


_WHERE = ("in", "for", "on")  # mostly where the claim does not say it either way
_POINTING = frozenset("this that these those".split())
_PREPOSITIONS = frozenset("among amongst under within without until for in during on".split())
_RANK = {Cue.SOME: 1, Cue.MOST: 2, Cue.ALL: 3}


def _check_dropped_lead(pair: Comparison) -> Iterator[Veto]:
    """What the source says of a case that it names first: "With low rent, …", told of all."""
    first = min((word.start for word in pair.claimed), default=0)
    match = _LEAD.match(pair.home.text[:first])
    if match is None or not pair.is_close or len(pair.claimed) < MIN_KEPT - 1:
        return  # or it is an item of a list
    if match["one"].endswith("(") or any(not gap.after for gap in pair.alignment.gaps):
        return  # what is in brackets says it, or another word of the claim: For people with, for patients with
    words = [word for word in pair.home.content if match.start("one") <= word.start < match.end()]
    if any(word.kind is Kind.WORD for word in words) and not any(pair.claim.match(word) for word in words):
        yield Veto("limit", Force.DOUBTS, f'the source says "{match["one"]}"')


_LEAD = regex.compile(
    r"(?:[^,]{0,20}\b(?:instance|example|however|thus|therefore),? )?"
    r"(?P<one>(?:with(?:in|out)?|among|under|for|given|at) (?!instance|example|(?<=given )the (?!approval|"
    r"consent|permission|agreement|presence|absence|support)[\p{L}-]+ of )[^,.;]{3,60})",
    regex.IGNORECASE,
)


def _check_quantifiers(pair: Comparison) -> Iterator[Veto]:
    """A claim of more than the source says: a quantifier that is stronger there, or left out."""
    if pair.alignment.matched < HALF:
        return
    ours, theirs = _ranks(pair, pair.claim), _ranks(pair, pair.home)
    elsewhere = [
        rank
        for _, (_, end), rank in (_ranks(pair, pair.wider) if ours else ())
        if any(pair.claim.match(word) for word in [one for one in pair.wider.content if one.start >= end][:2])
    ]
    highest = max(elsewhere, default=0)
    for written, span, rank in ours:
        word = next((other for other in pair.claim.content if other.start >= span[1] and other in pair.partner), None)
        said = pair.partner[word].start if word else 0
        there = [other for _, at, other in theirs if not word or 0 <= said - at[0] <= _QUANTIFIER_REACH] or [
            highest * (not theirs)
        ]
        is_said = any(
            its >= rank and (rank == 2 or other[:4].lower() == written[:4].lower()) for other, _, its in theirs
        )
        is_said = is_said or (rank == 2 and any(share.points > 50 for share in shares(pair.wider)))
        is_said = is_said or any(cue.first(pair.language, pair.claim.text[span[1] :]) for cue in (Cue.ABOVE, Cue.BELOW))
        some = next((share for share in shares(pair.home) if share.points < 100), None)
        is_some = rank == 3 and not theirs and some is not None and not shares(pair.claim)
        if (rank >= 2 and rank > max(there) and not is_said) or is_some:
            yield Veto("quantifiers", Force.DOUBTS, f'the source does not say "{written}"')
            return
    if ours:
        return
    for written, span, rank in theirs:
        word = next((other for other in pair.home.content if other.start >= span[1]), None)
        if rank <= 2 and word in pair.claimed:
            at = pair.claim.positions[pair.claimed[word]]
            if all(other.value is None for other in pair.claim.tokens[max(0, at - 5) : at]):  # it is not counted
                yield Veto("quantifiers", pair.unfound, f'the source says "{written}"')
                return


_QUANTIFIER_REACH = 30  # characters before a word in which a quantifier bears on it


def _ranks(pair: Comparison, reading: Reading) -> list[tuple[str, tuple[int, int], int]]:
    return sorted(
        (
            (match.group(), match.span(), 2 if reading.text.startswith(" but ", match.end()) else rank)  # all but one
            for cue, rank in _RANK.items()
            for match in cue.find(pair.language, reading.text)
            if not (cue is Cue.ALL and EACH_TIME.match(reading.text, match.end()))
            and not (_is_before_number(reading, match.end()) and cue is not Cue.ALL)
            and not (cue is Cue.ALL and reading.text[match.end() :].lstrip()[:1].isdigit())
            and not (cue is Cue.ALL and _ABOVE_ALL.search(reading.text, 0, match.end()))
        ),
        key=lambda found: found[1],
    )


_ABOVE_ALL = regex.compile(r"\b(?:above|after|at|first of|best of|worst of) all$", regex.IGNORECASE)


def _is_before_number(reading: Reading, end: int) -> bool:
    """Whether the next word is a number: "nearly six" and "only 25 %" limit the number alone."""
    at = bisect_left(reading.tokens, end, key=lambda token: token.start)
    following = reading.tokens[at : at + 2]
    is_one = len(following) == 2 and following[0].text.lower() == "one" and following[1].is_content
    is_number = is_one or (bool(following) and following[0].kind is Kind.NUMBER)
    return is_number and "(" not in reading.text[end : following[0].start]


_FUTURE = frozenset("will shall won't".split())
_PAST = frozenset("was were had did wasn't weren't hadn't didn't".split())
_PRESENT = frozenset("is are has have does do isn't aren't hasn't haven't doesn't don't".split())
_NOW = frozenset("is are isn't aren't".split())  # "has been" may be told of what "was"
_PLANS = frozenset("will shall won't would plan plans planned expect expects expected going due".split())
_ANNALS = regex.compile(
    r"\W*(?:[Ii][nm] )?(?:(?:\p{Nd}{1,2}\.? )?\p{Lu}\p{L}+ )?\p{Nd}{4}\b"
)  # 1943: the court restores it
_AUXILIARY_REACH = 5  # tokens before a verb among which its auxiliary stands


def _check_tense(pair: Comparison) -> Iterator[Veto]:
    """What was may not be what is: a word that both have, in the past there."""
    if pair.alignment.matched < HALF:
        return
    for word, said in pair.partner.items():
        if word.stem != said.stem:
            continue
        ours, theirs = _auxiliaries(pair.claim, word), _auxiliaries(pair.home, said)
        if ours & _FUTURE and not theirs & _PLANS:
            yield Veto("tense", Force.DOUBTS, 'the source does not say "will"')
            return
        if _ANNALS.match(pair.claim.text):
            continue
        is_past_now = ours & _NOW and not ours & _PAST and theirs & _PAST
        is_present = word.text.islower() and word.text.endswith("s") and not ours
        is_past = said.text.lower().endswith("ed") or is_irregular_past(said.text.lower())
        if is_past_now or (is_present and is_past and not theirs & (_PRESENT | _PLANS)):
            yield Veto("tense", Force.ASKS, f'the source has "{word.text}" in the past')
            return


def _auxiliaries(reading: Reading, word: Token) -> frozenset[str]:
    """The small words directly before it."""
    at = reading.positions[word]
    found: list[str] = []
    for token in reversed(reading.tokens[max(0, at - _AUXILIARY_REACH) : at]):
        if token.is_content and not token.text.lower().endswith("ly"):
            break
        found.append(token.text.lower())
    return frozenset(found)


def _in_english(*rules: Rule) -> Rule:
    """Rules whose words are English alone."""

    def check(pair: Comparison) -> Iterator[Veto]:
        return (veto for rule in rules if pair.language == "en" for veto in rule(pair))

    return check


LIMIT_RULES: tuple[Rule, ...] = (
    _check_negation, _check_limits, _check_added_cues, _check_quantifiers,
    _in_english(_check_dropped_phrases, _check_dropped_lead, _check_tense, _check_certainty),
)  # fmt: skip
