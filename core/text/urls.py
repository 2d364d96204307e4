"""Addresses of pages: one canonical form to tell that two are the same, and the domain people read."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import regex

# Parameters that say where a reader came from, not what is read.
_TRACKING = regex.compile(
    r"^(utm_\w+|fbclid|gclid|dclid|msclkid|mc_[ce]id|igshid|ref|ref_src|source|spm|_ga|yclid|cmpid)$", regex.I
)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_READER = regex.compile(r"^(?:(?:www\d?|m|amp|mobile)\.)+(?=[^.]+\.)")  # hosts that show the same page to other readers
_SAME_PAGE = ("/index.html", "/index.htm", "/index.php", "/amp")
_SAFE = "/%:@!$&'()*+,;=~"  # what `quote` leaves alone: an address that is quoted already stays as it is


@lru_cache(maxsize=2048)  # a question asks of each of its pages some ten times
def canonical_url(url: str) -> str:
    """The form under which two addresses of one page are equal; unchanged text when it is no http(s) or file URL.

    Scheme http and https count as one, host is lower case without `www.`, `m.` or `amp.`; fragments, tracking
    parameters, default ports, a trailing slash and `/index.html` go; parameters are sorted.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url
    if parts.scheme == "file":
        return urlunsplit(("file", "", parts.path, "", ""))
    host = _READER.sub("", (parts.hostname or "").rstrip("."))
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return url
    if ":" in host:
        host = f"[{host}]"
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    path = _page(_quoted(parts.path))
    # Latin-1 keeps bytes that are no UTF-8 apart; they are what older sites put into their queries.
    pairs = parse_qsl(_quoted(parts.query), keep_blank_values=True, encoding="latin-1")
    kept = sorted((key, value) for key, value in pairs if not _TRACKING.match(key))
    return urlunsplit(("https", host, path, urlencode(kept, encoding="latin-1"), ""))


def _page(path: str) -> str:
    """`path` without what only names the same page once more at its end."""
    bare = path.rstrip("/")
    while bare.endswith(_SAME_PAGE):
        bare = bare[: bare.rindex("/")].rstrip("/")
    return bare or "/"


def _quoted(text: str) -> str:
    return quote(text, safe=_SAFE, errors="surrogatepass")


def domain_of(url: str) -> str:
    """The host in lower case without `www.`, as browsers find it; "" for files and what is no address."""
    try:
        parts = urlsplit(url.replace("\\", "/"))  # WHATWG: what stands before `\@` is no user name
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return ""
    return host if parts.scheme in _DEFAULT_PORTS else ""


def public_address(url: str) -> str:
    """What others may be told of where something was read: of a file on this machine its name and heading alone."""
    if not url.lower().startswith("file:"):
        return url
    path, sign, heading = url[len("file:") :].partition("#")
    return f"file:{path.replace('%5C', '/').rpartition('/')[2]}{sign}{heading}"


_FILE_URL = regex.compile(r"\bfile://[^\s\"'<>)\]}]+", regex.I)


def without_paths(text: str) -> str:
    """A text in which each address of a file says no more than `public_address` does."""
    return _FILE_URL.sub(lambda found: public_address(found.group()), text)


def ascii_host(host: str) -> str:
    """A host as it is looked up: ASCII, lower case, no trailing dot; as it is where it cannot be a name."""
    host = unquote(host).strip().rstrip(".").lower()
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host


def is_web_url(url: str) -> bool:
    """An absolute http(s) address with a host, without credentials."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_named = bool(parts.hostname) and bool(domain_of(url))  # as browsers read it too
    return is_named and parts.username is None and parts.password is None
