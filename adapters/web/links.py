"""Addresses of a job's pages here; the signature of a private link goes along with each."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from adapters.web.prose import safe_link

RENEWAL, RETRY = "/refresh", "/retry"  # how the addresses end that research a question anew
_FEW_WORDS = 5  # on each end of a long quote: enough to be found, few enough to survive a changed comma
_LONG_WORDS = 12


@dataclass(frozen=True)
class JobLinks:
    """`sig` is the signature that the reader's own address carries, "" where none is needed."""

    job_id: str
    sig: str = ""

    @property
    def page(self) -> str:
        return self._at("")

    @property
    def trace(self) -> str:
        return self._at("/trace")

    @property
    def cancel(self) -> str:
        return self._at("/cancel")

    @property
    def steering(self) -> str:
        return self._at("/steering")

    @property
    def still(self) -> str:
        """The page of a running job that does not load itself anew, so that somebody without a script can write."""
        return self._at("", still="1")

    def heard(self, kind: str) -> str:
        """The page after something was said to the job."""
        return self._at("", heard=kind)

    @property
    def refresh(self) -> str:
        return self._at(RENEWAL)

    @property
    def retry(self) -> str:
        return self._at(RETRY)

    @property
    def stream(self) -> str:
        return f"/v1{self._at('/stream')}"

    def export(self, form: str) -> str:
        """`form` is one of the kinds of exports.py."""
        return self._at(f"/answer.{form}")

    def source(self, number: int, passage_id: str = "", *, start: int | None = None) -> str:
        """The text of a source, at one of its passages, or from a character on."""
        asked = {"claim": passage_id} if passage_id else {}
        if start is not None:
            return self._at(f"/sources/{number}", **asked, start=str(start))
        return self._at(f"/sources/{number}", **asked) + ("#passage" if passage_id else "")

    def code(self, number: int) -> str:
        """All of an implementation's code."""
        return self._at(f"/code/{number}")

    def picture(self, number: int, passage_id: str) -> str:
        """The page of a paper that a passage stands on, as PNG."""
        return self._at(f"/sources/{number}/page.png", claim=passage_id)

    def paper(self, number: int, page: int | None = None) -> str:
        """The PDF, at a page."""
        return self._at(f"/sources/{number}/paper.pdf") + (f"#page={page}" if page else "")

    def _at(self, below: str, **asked: str) -> str:
        if self.sig:
            asked["sig"] = self.sig
        return f"/jobs/{quote(self.job_id, safe='')}{below}{'?' if asked else ''}{urlencode(asked)}"


def live_link(url: str, passage: str, page: int | None) -> str:
    """The page as it is today, scrolled to the passage where browsers can; "" where `url` may not be a link.

    In a document with pages it is opened at the page; elsewhere by a text fragment
    (wicg.github.io/scroll-to-text-fragment), in which `-` and `,` are syntax.
    """
    address = safe_link(url)
    words = passage.split()
    if not address or not words:
        return address
    if page is not None:
        return f"{address.partition('#')[0]}#page={page}"
    is_long = len(words) > _LONG_WORDS or (len(words) > 1 and "\n" in passage.strip())  # one end cannot span blocks
    few = min(_FEW_WORDS, len(words) // 2)
    ends = [words[:few], words[-few:]] if is_long else [words]
    fragment = ",".join(quote(" ".join(end), safe="").replace("-", "%2D") for end in ends)
    return f"{address}{'' if '#' in address else '#'}:~:text={fragment}"
