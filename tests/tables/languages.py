"""What the rules must know of each language, as one file: `core/text/tables.json`.

Months, weekdays, units, scales and number marks are Unicode CLDR's, as Babel has them. Number words are composed
here and kept where text2num reads them as the number that they were composed for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import regex
from babel import Locale
from text_to_num import alpha2digit, text2num

TARGET = Path(__file__).resolve().parents[2] / "core" / "text" / "tables.json"
LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")
# CLDR's name of a unit and ours.
_UNITS = {
    "length-meter": "m", "length-kilometer": "km", "length-centimeter": "cm", "length-millimeter": "mm",
    "length-mile": "mi", "length-foot": "ft", "length-inch": "inch", "length-yard": "yard",
    "mass-gram": "g", "mass-kilogram": "kg", "mass-milligram": "mg", "mass-microgram": "µg", "mass-tonne": "tonne",
    "mass-pound": "lb", "mass-ounce": "oz",
    "duration-second": "s", "duration-millisecond": "ms", "duration-minute": "min", "duration-hour": "h",
    "duration-day": "day", "duration-week": "week", "duration-month": "month", "duration-year": "year",
    "duration-decade": "decade", "duration-century": "century",
    "volume-liter": "l", "volume-milliliter": "ml", "volume-deciliter": "dl", "volume-gallon": "gallon",
    "digital-byte": "b", "digital-kilobyte": "kb", "digital-megabyte": "mb", "digital-gigabyte": "gb",
    "digital-terabyte": "tb", "concentr-percent": "%",
    "power-watt": "w", "power-kilowatt": "kw", "power-megawatt": "mw", "power-gigawatt": "gw",
}  # fmt: skip
# 2–19, then the tens from twenty, then what binds a unit to a ten; of several spellings each is tried.
_WORDS = {
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn|zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "en": "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen|twenty thirty forty fifty sixty seventy eighty ninety",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve|veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf|vingt trente quarante cinquante soixante soixante-dix quatre-vingt quatre-vingt-dix",
    "it": "due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
    "diciassette diciotto diciannove|venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "nl": "twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien "
    "achttien negentien|twintig dertig veertig vijftig zestig zeventig tachtig negentig",
    "pt": "dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete dezoito "
    "dezenove|vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
}
_ONE = {"de": "ein", "en": "one", "es": "uno un una", "fr": "un", "it": "uno un", "nl": "een één", "pt": "um uma"}
_HUNDREDS = {
    "de": "hundert", "en": "hundred", "fr": "cent cents", "it": "cento", "nl": "honderd",
    "es": "cien ciento doscientos doscientas trescientos trescientas cuatrocientos cuatrocientas quinientos quinientas "
    "seiscientos seiscientas setecientos setecientas ochocientos ochocientas novecientos novecientas",
    "pt": "cem cento duzentos duzentas trezentos trezentas quatrocentos quatrocentas quinhentos quinhentas seiscentos "
    "seiscentas setecentos setecentas oitocentos oitocentas novecentos novecentas",
}  # fmt: skip
_SPELLINGS = {"fr": "quatre-vingts", "pt": "catorze quatorze dezasseis dezassete dezanove duas"}
_ORDINALS = {
    "de": "erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte zwanzigste",
    "en": "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    "es": "primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo primer tercer",
    "fr": "premier première deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième onzième "
    "douzième treizième quatorzième quinzième seizième vingtième second seconde",
    "it": "primo seconda terzo quarto quinto sesto settimo ottavo nono decimo undicesimo dodicesimo ventesimo",
    "nl": "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde twintigste",
    "pt": "primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono décimo",
}
_NOT_ORDINAL = frozenset({"prima"})  # Italian for "before" far more often


def write_languages(target: Path = TARGET) -> None:
    target.write_text(make_languages(), encoding="utf-8")


def make_languages() -> str:
    """One line a table, so that a change shows where it is."""
    languages = []
    for code in LANGUAGES:
        rows = (f'  "{name}": {json.dumps(row, ensure_ascii=False)}' for name, row in _tables(code).items())
        languages.append(f' "{code}": {{\n' + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(languages) + "\n}\n"


def _tables(code: str) -> dict[str, Any]:
    locale = Locale(code)
    return {
        "decimal": locale.number_symbols["latn"]["decimal"],
        "months": _calendar(locale.months, first=1),
        "weekdays": _calendar({"format": {"wide": locale.days["format"]["wide"]}}, first=0),
        "numbers": _numbers(code),
        "ordinals": _ordinals(code),
        "scales": _scales(locale, code),
        "units": _units(locale),
    }


def _calendar(forms: Any, *, first: int) -> dict[str, int]:
    """The names of months or weekdays in lower case, without dots, and their numbers from 1."""
    names = {
        name.lower().rstrip("."): number + 1 - first
        for contexts in forms.values()
        for width in ("wide", "abbreviated")
        for number, name in contexts.get(width, {}).items()
    }
    return {name: names[name] for name in sorted(names, key=lambda name: (names[name], name)) if name.isalpha()}


def _numbers(code: str) -> dict[str, int]:
    """Words for 2 to 99 and the hundreds of one word, hyphens as spaces."""
    found: dict[str, int] = {}
    for written in (*_compose(code), *_HUNDREDS[code].split(), *_SPELLINGS.get(code, "").split()):
        value = _value(written, code)
        if value is not None and value > 1:
            found[written.replace("-", " ")] = value
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


def _compose(code: str) -> Iterator[str]:
    small, tens = (part.split() for part in _WORDS[code].split("|"))
    yield from (*small, *tens)
    for ten in tens:
        for unit in (*_ONE[code].split(), *small):
            if code == "de":
                yield f"{unit}und{ten}"
            elif code == "nl":
                yield unit + ("ën" if unit.endswith("e") else "en") + ten
            elif code == "it":
                yield from (ten + unit, ten + unit.replace("tre", "tré"), ten[:-1] + unit)  # ventitré, ventuno
            elif code == "fr" and unit in ("un", "onze"):
                yield from (f"{ten} et {unit}", f"{ten}-{unit}")
            else:
                yield ten + {"es": " y ", "pt": " e "}.get(code, "-") + unit
            if code == "es" and ten == "veinte":
                yield from ("veinti" + unit, "veinti" + _accented(unit))


def _accented(unit: str) -> str:
    return regex.sub("o(?=s$)", "ó", regex.sub("e(?=s$|is$)", "é", unit))


def _value(written: str, code: str) -> int | None:
    try:
        return int(text2num(written, code))
    except ValueError:
        return None


def _ordinals(code: str) -> dict[str, int]:
    """With the endings of number, gender and case that text2num knows too."""
    found: dict[str, int] = {}
    for word in _ORDINALS[code].split():
        endings = {"de": ("", "n", "r", "s", "m")}.get(code, ("", "s"))
        forms = {word + ending for ending in endings}
        if code in ("es", "it", "pt") and word.endswith("o"):
            forms |= {word[:-1] + ending for ending in ("a", "os", "as", "i", "e")}
        for form in sorted(forms - _NOT_ORDINAL):
            if digits := regex.match(r"\d+(?=\D)", alpha2digit(form, code, threshold=0)):
                found[form] = int(digits.group())
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


def _scales(locale: Locale, code: str) -> dict[str, float]:
    """What multiplies the number before it: thousand, Mio, milliards; CLDR's single letters are left out."""
    found = {word: 100.0 for word in _HUNDREDS[code].split() if _value(word, code) == 100}
    for forms in locale.compact_decimal_formats.values():
        for patterns in forms.values():
            for power, pattern in patterns.items():
                match = regex.fullmatch(r"(0*)\s?'?(\p{L}{2,})[.']*", str(pattern.pattern))
                if match:
                    found[match.group(2).lower()] = float(power) / 10 ** max(0, len(match.group(1)) - 1)
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


def _units(locale: Locale) -> dict[str, str]:
    """The words for units in every number and case, by our name of the unit; CLDR may have them in its short forms."""
    found: dict[str, str] = {}
    for name, ours in _UNITS.items():
        widths = locale._data["unit_patterns"].get(name, {})
        for width in ("long", "short"):
            words = {regex.sub(r"\{0\}", "", text).strip().lower() for text in _strings(widths.get(width, {}))}
            if fit := {word for word in words if word.isalpha() and len(word) > 1}:
                found |= dict.fromkeys(fit, ours)
                break
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


def _strings(forms: Any) -> Iterator[str]:
    for value in forms.values() if hasattr(forms, "values") else forms:
        yield from [value] if isinstance(value, str) else _strings(value)
