"""Numbers and months as people write them: 1,234.5, twenty-five, 1.2 million, Sept."""

from __future__ import annotations

_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""".split()
_MULTIPLES = {"twice": 2.0, "double": 2.0, "thrice": 3.0, "triple": 3.0, "dozen": 12.0}
_WORDS = (
    {word: float(value) for value, word in enumerate(_SMALL)}
    | {word: float(value * 10) for value, word in enumerate(_TENS, start=2)}
    | {word: float(value) for value, word in enumerate(_ORDINALS, start=1)}
    | _MULTIPLES
)
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9}
MONTHS = """january february march april may june july august september october november december""".split()
_ABBREVIATIONS = {month[:3]: month for month in MONTHS} | {"sept": "september"}


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
    return None if lower == "one" else _WORDS.get(lower)


def is_ordinal_word(lower: str) -> bool:
    return lower in _ORDINALS


def is_ordinal(lower: str) -> bool:
    """As word or in digits: second, 2nd."""
    return lower in _ORDINALS or (lower[0].isdigit() and lower[-2:] in ("st", "nd", "rd", "th"))


def is_loose(written: str) -> bool:
    """Whether a number is an ordinal, a multiple or a small count in words, which a source may imply without it."""
    return written[0].isalpha() and "-" not in written and " " not in written


def join_numbers(left: str, left_value: float | None, right: str, right_value: float | None) -> float | None:
    """The value of two neighbouring words that make one number; None where they do not."""
    if left_value is not None and left[0].isdigit() and right in ("st", "nd", "rd", "th"):
        return left_value
    if right in SCALES and (left_value is not None or left in ("one", "a")) and left not in _ORDINALS:
        return (1.0 if left_value is None else left_value) * SCALES[right]
    if left in _TENS and left_value is not None and (right == "one" or right_value is not None):
        units = 1.0 if right_value is None else right_value
        return left_value + units if 0 < units < 10 else None
    return None


def month_of(lower: str, following: str, before: str) -> str | None:
    """The full name of a month. "May" and "Mar" need a number beside them, as they are words too."""
    month = lower if lower in MONTHS else _ABBREVIATIONS.get(lower)
    is_plain = lower in MONTHS and lower not in ("may", "march")
    return month if month and (is_plain or following[:1].isdigit() or before.rstrip()[-1:].isdigit()) else None


def is_year(written: str, value: float) -> bool:
    return written.isdigit() and len(written) == 4 and 1000 <= value <= 2100


def same_number(claimed: float, said: float, written: str) -> bool:
    """Whether `claimed`, as `written`, is `said` or is `said` rounded to the digits that the claim gives."""
    if claimed == said:
        return True
    if not claimed or is_year(written, claimed) or written[0].isalpha():
        return False
    step = _last_place(claimed, written)
    is_rounding = step < 1 or step >= 10 or (said != int(said) and claimed >= 10)
    return is_rounding and abs(claimed - said) <= step / 2 and abs(claimed - said) <= 0.05 * abs(said)


def _last_place(value: float, written: str) -> float:
    """What a unit of the last digit is worth: 0.1 for 2.5, 100,000 for 1.2 million, 1000 for 45,000."""
    mantissa, _, scale = written.lower().partition(" ")
    if value / SCALES.get(scale, 1.0) % 1:
        mantissa = mantissa.replace(",", ".")  # a decimal comma: the value is not whole
    step = SCALES.get(scale, 1.0)
    _, _, decimals = mantissa.partition(".")
    if decimals:
        return step * float(10.0 ** -len(decimals))
    while value >= 100 * step and value % (step * 10) == 0:
        step *= 10
    return step
