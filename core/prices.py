"""What model calls cost, in dollars per million tokens of (prompt, completion), by the model's name; and searches.

Prices change: those here are the list prices of the date below for calls to the vendor itself, without discounts
for cached prompts or batches. `GORKD_PRICES` replaces and adds; a model without a price has tokens but no cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from core.errors import SetupError

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
