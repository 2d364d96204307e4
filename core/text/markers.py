"""The many ways in which models write that a sentence stands in a source, made into one: `[2]`.

Brackets of other scripts, words in front of the number, tags, superscripts, a site's name. What may be something else
(`(2)`, `²`) counts only where a sentence ends, and only while no plain marker stands before it. Nothing is judged here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

import regex

from core.model.source import Source
from core.text.sentences import code_spans

_WORD = (
    r"(?:cite|citation|see|refs?|references?|sources?|source[_ ]?id|src|id|docs?|documents?|quellen?|fuentes?"
    r"|fontes?|fonti|bron(?:nen)?|来源|來源|出典|資料|资料|출처|источники?|المصدر|مصدر)[\s:.=#_-]*"
)
_ONE = rf"(?:{_WORD}|s)?\p{{Nd}}{{1,2}}"
_LIST = rf"{_ONE}(?:\s*(?:[,;&、，]|and|und|et|y|e|en)\s*{_ONE})*+"
_OF = r"(?:according to|laut|selon|según|secondo)"
_SURE = regex.compile(
    rf"(?:\\\[|[［【〖〔]|\[\**(?:\s*(?:{_WORD})?\[)?)\s*(?P<list>{_LIST})\.?(?:†[^\[\]【】\n]*+)?\s*\**+(?:\\?[\]］】〗〕]){{1,2}}+(?!\()"
    rf"|[(（]\s*(?=\[|{_WORD})(?:{_WORD})?(?P<list>\[?{_LIST}\]?(?:[\s,;]*\[{_LIST}\])*+)\s*[)）]"
    rf"|(?<!\s)\s*[—–,(]\s*{_OF}\s+(?={_WORD}\p{{Nd}})(?P<list>{_LIST})\)?(?=\s*[.!?])"
    r"|<(?:cite|ref|source|citation)\b[^<>]*>\s*(?P<list>\[?\d{1,2}(?:\]?[\s,]*\[?\d{1,2})*\]?)\s*</(?:cite|ref|source|citation)>"
    r"|<(?:cite|ref|source|citation)\b[^<>\d]*(?P<list>\d{1,2})[\"'\s/]*>(?:\s*</(?:cite|ref|source|citation)>)?"
    r"|(?<=\p{L}{3}|[\s\p{P}])<sup>(?P<list>\[?\d{1,2}(?:\]?[\s,]*\[?\d{1,2})*\]?)</sup>(?!\p{L})"
    r"|(?<=\p{L}{3}[ \u00a0])(?P<list>[¹²³⁴⁵⁶⁷⁸⁹]{1,2}(?:,[¹²³⁴⁵⁶⁷⁸⁹]{1,2})*)(?=[;,:])"
    r"|\$\s*\^\{?\[?(?P<list>\d{1,2}(?:,\s*\d{1,2})*)\]?\}?\s*\$",
    regex.IGNORECASE,
)
_LIKELY = regex.compile(
    r"(?<=\p{L}{3}\s?|\p{Lo}|[\d%)”»\"']\s|[)”»\"']|(?P<stop>[.!?…。！？।؟])\s?)"
    r"(?:(?<=\s|[\p{Lo}.!?…。！？।؟])[(（](?P<list>\p{Nd}{1,2}(?:\s*[,;、，]\s*\p{Nd}{1,2})*)[)）]|\^(?P<list>\[?\d{1,2}(?:,\d{1,2})*\]?)"
    r"|⁽?(?P<list>[¹²³⁴⁵⁶⁷⁸⁹⁰]{1,2}(?:[,⸴˒’ ][¹²³⁴⁵⁶⁷⁸⁹⁰]{1,2})*)⁾?|(?P<list>[①-⑳]))"
    r"(?=[ \t]*(?:[.!?…。！？।؟|]|\n|$)|(?(stop)\s|(?!)))"
)
_COUNTED = regex.compile(  # what a number behind it counts or measures
    r"\b(?:feet|foot|inch(?:es)?|miles?|yards?|\w*met(?:er|re)s?|metros?|metri|eqs?|eqn|equations?|formula|tables?|figs?"
    r"|figures?|steps?|types?|phases?|stages?|class|grade|options?|groups?|parts?|chapters?|articles?|rules?|lines?|items?"
    r"|sections?|gleichung|tabelle|abbildung|tabla|figura)\.?\s*\Z",
    regex.IGNORECASE,
)
_HINT = re.compile(  # most answers have none, and each is looked at with every piece of it that comes
    r"\]\s?[–-]\s?\[|[【［〔〖（\\^⁽¹²³⁴⁵⁶⁷⁸⁹①-⑳$<]|\[(?![0-9 ,;–-]{1,30}\])|\((?:\w+[\s:.=#_-]*)?[\d\[]|\([\w-]+\."
)
_FROM_TO = regex.compile(r"(\[\d{1,2})\]\s?[–-]\s?\[(\d{1,2}\])")  # [1]–[3] as [1-3]
_ACCORDING = ("ccording to", "aut ", "elon ", "egún ", "econdo ")
_PLAIN = regex.compile(r"\[[0-9 ,;–-]{1,30}\]")
_NAMED = regex.compile(r"\((?P<name>[\w-]+(?:\.[\w-]+)+)\)|\[(?P<name>[^\[\]()\n]{4,120})\](?!\()")


def source_names(sources: Sequence[Source]) -> dict[str, int]:
    """Their numbers by what else a model may call them: the site, where no other is of it, and the title."""
    named = [(name.casefold(), one.number) for one in sources for name in (one.id, one.metadata.domain, one.title)]
    counted = Counter(name for name, _ in named)
    return {
        name: number for name, number in named if counted[name] == 1 and (" " in name or "." in name or "_" in name)
    }


def plain_markers(text: str, names: Mapping[str, int]) -> str:
    """`text`, or as far as it is written, with its citations as `[1]`; `names` as `source_names` gives them."""
    if _HINT.search(text) is None and not any(word in text for word in _ACCORDING):
        return text
    known = set(names.values())
    code = code_spans(text) if "`" in text or "~~~" in text else []

    def written(found: regex.Match[str]) -> str:
        """The marker; what stands there where it is none, or names no source that was given."""
        start, before = found.start(), found.string[: found.start()]
        is_other = found.re is _LIKELY and (_PLAIN.search(before) or _COUNTED.search(before[-40:]))
        if is_other or _PLAIN.fullmatch(found[0]) or any(first <= start < end for first, end in code):
            return found[0]
        if found.re is _NAMED:
            numbers = [names.get(found["name"].casefold(), 0)]
        else:
            numbers = [int(one) for one in regex.findall(r"\p{Nd}+", unicodedata.normalize("NFKC", found["list"]))]
        if not known.issuperset(numbers):
            return found[0]
        return (" " if before[-1:].isalnum() else "") + "".join(f"[{number}]" for number in numbers)

    for pattern in (_SURE, _NAMED, _LIKELY):
        text = pattern.sub(written, text)
    return _FROM_TO.sub(r"\1-\2", text)
