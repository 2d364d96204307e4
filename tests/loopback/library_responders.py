"""A scripted model for the paper library: it summarises what it is given, and answers in sentences of the pages.

It reads only what a real model would be sent.
"""

from __future__ import annotations

import json
import re

from tests.loopback.openai_responders import ChatCall, Respond, answer_responder

_PAGE = re.compile(r'<source paper="([^"]+)"(?: page="(\d+)")?>\n(.*?)\n</source>', re.DOTALL)
_FEEDBACK = re.compile(r"<feedback>\s*(.*?)\s*</feedback>", re.DOTALL)
_QUERY = re.compile(r"# Question\s*(.*?)\s*\n#", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def summary_responder(call: ChatCall) -> str:
    """The paper's longest sentences of its beginning; its title as it is filed."""
    title = re.search(r"Title as filed: (.*)", call.user)
    text = call.user.partition("<source>")[2].partition("</source>")[0]
    longest = sorted(sentences(text[:4000]), key=len)[-2:]
    told = {"title": title[1] if title else "", "authors": ["A. Author"], "year": "", "summary": " ".join(longest)}
    return json.dumps(told)


def library_answer(call: ChatCall) -> str:
    """Sentences of the pages that share most words with the query and the feedback, each with paper and page.

    Prompts that are not the library's are answered as usual.
    """
    pages = _PAGE.findall(call.user)
    if not pages:
        return answer_responder(call)
    asked = _QUERY.search(call.user)
    wish = _FEEDBACK.search(call.user)
    wanted = _words(f"{asked[1] if asked else ''} {wish[1] if wish else ''}")
    said = {sentence: (paper, page) for paper, page, text in pages for sentence in sentences(text)}
    best = sorted(said, key=lambda sentence: -len(wanted & _words(sentence)))[: 4 if wish else 3]
    cited = [f"{one.rstrip('.!?')} [{said[one][0]}, page {said[one][1]}]." for one in best]
    return json.dumps({"summary": cited[0], "detail": " ".join(cited[1:]), "citations": []})


LIBRARY: dict[str, Respond] = {"paper_summary": summary_responder, "answer": library_answer}


def sentences(text: str) -> list[str]:
    """Whole sentences of a page that state something."""
    found = _SENTENCE.split(" ".join(re.sub(r"(?m)^#.*$", " ", text).split()))
    return [one for one in found if 40 <= len(one) <= 300 and one[0].isupper() and one[-1] in ".!" and "[" not in one]


def _words(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[a-z]{4,}", text.casefold())}
