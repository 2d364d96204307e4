"""Write the generated tables anew: `python -m tests.tables [languages] [antonyms] [frequencies] [locale]`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.tables.antonyms import write_antonyms
from tests.tables.catalogues import write_catalogues
from tests.tables.frequencies import write_frequencies
from tests.tables.languages import write_languages

TABLES: dict[str, Callable[[], object]] = {
    "languages": write_languages,
    "antonyms": write_antonyms,
    "frequencies": write_frequencies,
    "locale": write_catalogues,
}


if __name__ == "__main__":
    for name in sys.argv[1:] or TABLES:
        TABLES[name]()
