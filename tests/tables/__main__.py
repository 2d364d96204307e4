"""Write the generated tables anew: `python -m tests.tables`."""

from __future__ import annotations

from tests.tables.antonyms import write_antonyms

if __name__ == "__main__":
    print(f"antonyms: {write_antonyms()} lines")
