"""A scripted model for sections of a paper: it summarises, scores, asks for evidence by tool, and writes with keys.

It reads only what a real model would be sent.
"""

from __future__ import annotations

import json
import re

from tests.loopback.openai_responders import ChatCall, Fault, sources_in

QUERIES = (
    "limits of the methods used before",
    "sample size and statistical power of earlier studies",
    "conflicting findings between populations",
)  # the agent's own searches, in turn
_KEYED = re.compile(r'<source key="([^"]+)"[^>]*>\n(.*?)\n</source>', re.DOTALL)
_STOP_WORDS = frozenset("a an and are as at be by for from in is it of on or that the their this to was we".split())


def summaries_responder(call: ChatCall) -> str:
    """The sentence of each passage that shares most words with the query, told a little otherwise."""
    wanted = _words(_query(call))
    rows = []
    for source in sources_in(call.user):
        best = max(sentences(source.text), key=lambda sentence: len(wanted & _words(sentence)), default=source.text)
        rows.append({"number": int(source.number), "summary": f"The passage bears on this. {best}"})
    return json.dumps({"items": rows})


def scores_responder(call: ChatCall) -> str:
    """The share of the query's words that the summary has."""
    wanted = _words(_query(call))
    rows = []
    for source in sources_in(call.user):
        share = len(wanted & _words(source.text)) / max(1, min(len(wanted), 12))
        rows.append({"number": int(source.number), "score": round(min(1.0, 0.2 + share), 3)})
    return json.dumps({"items": rows})


def agent_responder(call: ChatCall) -> str | Fault:
    """One search a turn, as many as there are `QUERIES`; then it has enough."""
    made = sum(message["role"] == "tool" for message in call.body["messages"])
    if made >= len(QUERIES):
        return "The evidence covers background, problem and related work."
    return Fault(calls=(("search_evidence", json.dumps({"query": QUERIES[made]})),), finish_reason="tool_calls")


def move_responder(call: ChatCall) -> str:
    """The same without tools."""
    made = call.user.count("You searched for")
    if made >= len(QUERIES):
        return json.dumps({"missing": "nothing", "action": "enough", "query": ""})
    return json.dumps({"missing": "related work", "action": "search", "query": QUERIES[made]})


def section_responder(call: ChatCall) -> str:
    """A sentence of every passage, without its stop words so that it quotes nothing, with the key of its paper."""
    prose = []
    for key, text in _KEYED.findall(call.user):
        passage = text.partition("Passage:\n")[2]
        good = [sentence for sentence in sentences(passage) if 60 <= len(sentence) <= 220]
        if good:
            prose.append(f"{_shortened(good[0])} ({key}).")
    return json.dumps({"text": " ".join(prose)})


def rephrased_responder(call: ChatCall) -> str:
    """Every sentence with a word put in after every third, so that no longer run is left."""
    rows = []
    for number, text in re.findall(r'<item number="(\d+)">\n(.*?)\nRepeats:', call.user, re.DOTALL):
        rows.append({"number": int(number), "sentence": _loosened(text.split())})
    return json.dumps({"items": rows})


def sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", " ".join(text.split())) if part.strip()]


def _shortened(sentence: str) -> str:
    """At most twelve words of it, no four of them in a row."""
    return _loosened(sentence.rstrip(".!?").split()[:12])


def _loosened(words: list[str]) -> str:
    return " indeed ".join(" ".join(words[at : at + 3]) for at in range(0, len(words), 3))


def _query(call: ChatCall) -> str:
    return re.findall(r"<query>\n(.*?)\n</query>", call.user, re.DOTALL)[-1]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9-]{3,}", text.lower()) if word not in _STOP_WORDS}


SECTION = {
    "": agent_responder,
    "next_move": move_responder,
    "evidence_summaries": summaries_responder,
    "evidence_scores": scores_responder,
    "section": section_responder,
    "rephrased": rephrased_responder,
}
