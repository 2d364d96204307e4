"""What model calls cost: tokens where nobody counts them, and dollars per million tokens, by the model's name.

Prices change: those here are the list prices of the date below for calls to the vendor itself, without discounts
for cached prompts or batches. `GORKD_PRICES` replaces and adds; a model without a price has tokens but no cost.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping

from core.model.answer import ModelUsage
from core.model.errors import SetupError
from core.model.ports import ChatRequest

Price = tuple[float, float]
Prices = Mapping[str, Price]

AS_OF = "June 2026"
SEARCH = "web_search"  # the entry of a model's own search: dollars per thousand, as vendors list it
LIST_PRICES: Prices = {  # as several public price lists gave them for the vendor's standard tier at that date
    "gpt-5.4": (2.50, 15.00),
    "gpt-5.4-mini": (0.75, 4.50),
    "gpt-5.4-nano": (0.20, 1.25),
    SEARCH: (10.00, 0.0),
}


def read_prices(text: str) -> dict[str, Price]:
    """The list prices with those of `text` put over them: `my-model=0.5/2, other=0/0, web_search=10`.

    Raises `SetupError` on anything else; the message names the part that is wrong.
    """
    prices = dict(LIST_PRICES)
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, pair = entry.rpartition("=")
        prompt, slash, completion = pair.partition("/")
        if name.strip() == SEARCH and not slash:
            completion = "0"
        try:
            price = float(prompt), float(completion)
        except ValueError:
            price = math.nan, math.nan
        if not name.strip() or not all(math.isfinite(side) and side >= 0 for side in price):
            raise SetupError(
                f"GORKD_PRICES: {entry!r} is not a price. Write model=prompt/completion in dollars per million "
                "tokens, several separated by commas, e.g. my-model=0.5/2; or web_search=10 per thousand searches."
            )
        prices[name.strip()] = price
    return prices


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` costs, erring high for the vocabularies in use today.

    Four ASCII letters or blanks a token (English prose runs at 4.2–4.7), two ASCII digits or signs,
    two letters of other alphabets, one CJK character, half an emoji or other rare character.
    """
    ascii_part = text.encode("ascii", "ignore")
    signs = len(ascii_part.translate(None, _LETTERS_AND_BLANKS))
    letters = len(ascii_part) - signs
    other = len(text) - len(ascii_part)
    wide = len(_WIDE.findall(text)) if other else 0
    rare = len(_RARE.findall(text)) if other else 0
    return math.ceil(letters / 4 + signs / 2 + (other - wide - rare) / 2 + wide + 2 * rare)


_LETTERS_AND_BLANKS = (string.ascii_letters + " \n").encode()
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\ufe30-\uffef\U00020000-\U0003ffff]")
_RARE = re.compile("[\U00010000-\U0001ffff\U000e0000-\U0010ffff]")


def estimate_usage(request: ChatRequest, text: str) -> ModelUsage:
    """What a call cost when the endpoint does not say."""
    prompt = estimate_tokens(request.system) + estimate_tokens(request.user)
    return ModelUsage(prompt_tokens=prompt, completion_tokens=estimate_tokens(text), is_estimated=True)


def cost_usd(usage: ModelUsage, model: str, prices: Prices) -> float | None:
    """Dollars of one call; None when the model has no price.

    `prices` are dollars per million tokens of (prompt, completion) by model name; a dated name
    (`…-2026-03-17`) costs what its family costs. Searches of its own cost what the entry `SEARCH` says.
    """
    price = prices.get(model) or prices.get(_DATED.sub("", model))
    if price is None:
        return None
    prompt, completion = price
    searching = usage.searches * prices.get(SEARCH, (0.0, 0.0))[0] / 1000
    return (usage.prompt_tokens * prompt + usage.completion_tokens * completion) / 1_000_000 + searching


_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")
