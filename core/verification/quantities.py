"""Numbers as people write them: 1,234.5 and twenty-five."""

from __future__ import annotations

_WORDS = {
    word: float(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    )
} | {
    word: float(value * 10)
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_ORDINALS = {
    word: float(value)
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=1
    )
}
_MULTIPLES = {"twice": 2.0, "double": 2.0, "thrice": 3.0, "triple": 3.0, "dozen": 12.0}
_NUMBER_WORDS = _MULTIPLES | _ORDINALS | _WORDS
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9, "mn": 1e6}


def parse_number(digits: str) -> float:
    """The value of digits with `,` and `.`: a comma before three digits groups, else it is a decimal point."""
    parts = digits.split(",")
    if len(parts) > 1 and all(len(part.split(".")[0]) == 3 for part in parts[1:]):
        digits = "".join(parts)
    else:
        digits = ".".join(parts)
    if digits.count(".") > 1:  # 1.2.3 is a version or a date: keep it apart from any quantity
        return float(digits.replace(".", "")) + 0.123456789
    return float(digits)


def number_word(lower: str) -> float | None:
    """The value of a number written as one word, ordinals and multiples included; "one" is a pronoun too often."""
    if lower == "one":
        return None
    return _NUMBER_WORDS.get(lower)


def same_number(claimed: float, said: float, written: str) -> bool:
    """Whether `claimed`, as `written`, is `said` or `said` rounded to the digits that the claim gives."""
    if claimed == said:
        return True
    decimals = len(written.split(".")[1]) if "." in written and written[0].isdigit() else 0
    is_rounded = decimals > 0 or (claimed >= 100 and claimed % 10 == 0) or said != int(said)
    step = 10.0**-decimals
    while decimals == 0 and claimed >= 1000 and claimed % (step * 10) == 0:
        step *= 10
    return is_rounded and abs(claimed - said) <= step / 2 and claimed != 0
