"""A library large enough for S000's four examples: six papers on each of three subjects, three pages each."""

from __future__ import annotations

from datetime import timedelta

from core.library.paper import Paper
from tests.core.library.samples import AT

SUBJECTS = {
    "prompt engineering": {
        "2301.12345v1": "Prompt Engineering Techniques for Large Language Models",
        "2302.67890v2": "Language Model Prompting: Strategies and Applications",
        "2303.11111v1": "Chain-of-Thought Prompting in Neural Language Models",
        "2304.22222v1": "Automatic Prompt Optimization",
        "2305.33333v1": "A Catalogue of Prompt Patterns",
        "2306.44444v1": "Prompts as Programs",
    },
    "transformers work": {
        "1810.04805v2": "Transformers for Language Understanding",
        "2005.14165v4": "Transformers at Scale",
        "2102.11174v1": "Linear Transformers",
        "2009.06732v3": "Efficient Transformers",
        "2207.09238v1": "Formal Algorithms for Transformers",
        "2106.04554v2": "A Survey of Transformers",
    },
    "attention mechanisms in neural networks": {
        "1706.03762v5": "Attention is All You Need",
        "1409.0473v7": "Neural Machine Translation by Jointly Learning to Align and Translate",
        "2010.11929v2": "An Attentive Survey of Attention Models",
        "1508.04025v5": "Effective Approaches to Attention",
        "1904.02874v3": "Attention in Neural Processing",
        "2203.14263v1": "A General Survey of Attention",
    },
}
_DOINGS = (
    "was compared with {other} on questions of arithmetic", "needs fewer steps than {other} where texts are long",
    "was studied by readers who had never seen {other}", "is described with its costs and its limits",
    "changes little when the order of the words is turned round", "was measured on nine sets of public questions",
)  # fmt: skip
_TELLING = (
    "As {title} defines it, {subject} is a practice that rests on written examples and careful records",
    "What {title} adds is that {subject} keeps the beginning of a long text in view until its end",
    "Sixty studies that {title} reads agree that {subject} costs time, which grows with the length of the text",
    "By the measurements of {title}, {subject} halves the errors that untrained readers make",
    "The catalogue in {title} names nine forms that {subject} takes, three of them rare",
    "A proof in {title} shows that {subject} can count no further than its memory reaches",
)
_OTHERS = "tables dictionaries grammars drawings programs letters poems recipes maps ledgers".split()


def example_papers() -> dict[Paper, str]:
    """Each paper with its text, pages parted by form feeds."""
    made: dict[Paper, str] = {}
    for subject, titles in SUBJECTS.items():
        for number, (paper_id, title) in enumerate(titles.items()):
            summary = f"{title}. The paper says what {subject} is, how {subject} is done and what {subject} costs."
            authors = ("Ashish Vaswani", "Noam Shazeer") if paper_id == "1706.03762v5" else (f"Author{number}, A.",)
            day = AT + timedelta(minutes=len(made))
            paper = Paper(
                paper_id, title, f"hash-{paper_id}", day, authors, f"20{paper_id[:2]}-{paper_id[2:4]}",
                labels=("1", "2", "3"), summary=summary,
            )  # fmt: skip
            made[paper] = "\f".join(_page(subject, title, number, page) for page in range(3))
    return made


def telling(paper_id: str) -> str:
    """What the second page of a paper says first."""
    subject = next(subject for subject, titles in SUBJECTS.items() if paper_id in titles)
    number = [*SUBJECTS[subject]].index(paper_id)
    return _TELLING[number].format(title=SUBJECTS[subject][paper_id], subject=subject)


def _page(subject: str, title: str, number: int, page: int) -> str:
    lines = [f"{_TELLING[number].format(title=title, subject=subject)}."] if page == 1 else []
    for at in range(16):
        first, second = _OTHERS[(number * 7 + page * 3 + at) % 10], _OTHERS[(at * 3 + number) % 10]
        doing = _DOINGS[(at + page) % len(_DOINGS)].format(other=first)
        lines.append(f"In part {page + 1}, trial {at + 1}, {subject} with {first} and {second} {doing}.")
    return f"## Part {page + 1}\n\n{' '.join(lines)}"
