"""How fast the outside is in a run, in seconds, and how much is asked of it."""

from __future__ import annotations

from dataclasses import dataclass

CHARS_PER_TOKEN = 4  # English runs at 4.2–4.7 a token in the vocabularies in use today, technical text near 4


@dataclass(frozen=True)
class Pace:
    """A model's first token and every further one, a search, and any answer of a web site (robots.txt too)."""

    first_token_s: float = 1.0
    token_s: float = 0.03
    search_s: float = 0.4
    page_s: float = 0.3


@dataclass(frozen=True)
class Conditions:
    """`quick_token_s` is the model's pace in the part about fixed limits (S003-24)."""

    pace: Pace = Pace()
    quick_token_s: float = 0.01
    questions_at_once: int = 20
    asked_at_once: int = 200  # as many as may wait: one more is refused
    repeats: int = 10  # of a cached question
    cached_answers: int = 10_000  # in one place
    starts: int = 3  # of `gorkd web`
    idle_s: float = 3.0  # before its memory is read
    followers: int = 500  # of event streams, at once
    followed_jobs: int = 50
    papers: int = 10_000  # in a library, of forty chunks each
    event_pause_s: float = 0.25  # between two events of a job: a standard question's, over its 10 s
    real_pages: bool = True
    made_up_pages: int = 60  # where the real ones are absent or not wanted


def tokens_in(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)
