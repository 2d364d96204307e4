"""A scripted model for deep research: it plans, searches, takes facts out word for word and checks the list.

It reads only what a real model would be sent. An item is satisfied by facts of two sources, partial by one.
"""

from __future__ import annotations

import json
import re

from tests.loopback.openai_responders import ChatCall, question_in, sources_in

_STOP_WORDS = frozenset(
    "a an and are as at be by can did do does for from had has have how in is it its of on or that the their this to "
    "was were what when where which who why will with within level levels factor".split()
)


def refine_responder(call: ChatCall) -> str:
    """Three items from the question's own words."""
    question = question_in(call.user)
    subject = " ".join(_words(question)[:6])
    items = [f"What studies found on {subject}", f"Who was studied for {subject}", f"How {subject} was measured"]
    return json.dumps(
        {
            "question": question,
            "in_scope": [subject],
            "out_of_scope": ["treatment costs"],
            "key_terms": _words(question)[:5],
            "checklist": items,
        }
    )


def queries_responder(call: ChatCall) -> str:
    """By the first item that is still needed; wider with each round."""
    made = block(call.user, "queries").count("\n- ") + 1 if block(call.user, "queries") else 0
    words = _words(question_in(call.user))
    needed = re.findall(r"(?m)^\d+\. (.*?)(?: \(still missing.*)?$", block(call.user, "checklist"))
    extra = [word for word in _words(needed[0] if needed else "") if word not in words]
    pubmed = " AND ".join(f"{word}[tiab]" for word in words[: max(1, 3 - made // 4)])
    return json.dumps({"pubmed": [pubmed], "web": [" ".join([*words[:4], *extra[:2], *(["study"] if made else [])])]})


def facts_responder(call: ChatCall) -> str:
    """The two sentences of each source that hold most of the question's words, for the items in turn."""
    wanted = set(_words(question_in(call.user)))
    items = re.findall(r"(?m)^(\d+)\. ", block(call.user, "checklist"))
    facts = []
    for source in sources_in(call.user):
        sentences = [part for part in re.split(r"(?<=[.!?])\s+|\n+", source.text) if 40 <= len(part) <= 300]
        best = sorted(sentences, key=lambda part: -len(wanted & set(_words(part))))[:2]
        for sentence in best:
            if wanted & set(_words(sentence)) and sentence[-1] == ".":
                item = items[len(facts) % len(items)] if items else ""
                quote = " ".join(sentence.split()[:20])
                facts.append({"fact": sentence, "items": [item], "source": source.number, "quote": quote})
    most = int(next(iter(re.findall(r"at most (\d+) findings", call.system)), 8))
    return json.dumps({"facts": facts[: min(most, 8)]})


def coverage_responder(call: ChatCall) -> str:
    """By how many sources the facts of each item come from."""
    facts = re.findall(r"(?m)^F(\d+) \[source (\d+)(?:, items ([\d, ]+))?\]", block(call.user, "facts"))
    rows = []
    for item, description in re.findall(r"(?m)^(\d+)\. (.*)$", block(call.user, "checklist")):
        own = [(int(number), source) for number, source, items in facts if item in items.split(", ")]
        coverage = ("unsatisfied", "partial", "satisfied")[min(2, len({source for _, source in own}))]
        missing = "" if coverage == "satisfied" else f"more on {' '.join(_words(description)[:4])}"
        rows.append({"id": item, "coverage": coverage, "facts": [number for number, _ in own], "missing": missing})
    return json.dumps({"items": rows})


def block(user: str, tag: str) -> str:
    """What stands between the tags, "" where there are none."""
    found = re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", user, re.DOTALL)
    return str(found[-1]) if found else ""


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word for word in re.findall(r"[a-z0-9-]{3,}", text.lower()) if word not in _STOP_WORDS))


DEEP = {
    "refined_question": refine_responder,
    "queries": queries_responder,
    "facts": facts_responder,
    "coverage": coverage_responder,
}
