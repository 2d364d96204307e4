"""`gorkd section` as a real process: files where they are wished, both styles, and faults by their field."""

from __future__ import annotations

from pathlib import Path

import bibtexparser

from tests.bots.test_chat import alone
from tests.commands import gorkd
from tests.core.section.samples import BRIEF
from tests.loopback.openai_responders import by_schema
from tests.loopback.openai_world import openai_world
from tests.loopback.section_responders import SECTION

TIDES = """# Tides and the Moon

## Abstract

The tides of the harbour depend on the moon and on the wind that blows over the sea.

## Results

Strong wind raised the tide in the harbour of Brest by 40 centimetres in a single winter night.
"""


async def test_a_section_is_written_to_files_and_to_the_terminal(tmp_path: Path) -> None:
    """D3, S001-24: by key, or by author and year; a wrong field is named before anything is asked."""
    (tmp_path / "tides.md").write_text(TIDES)
    (tmp_path / "paper.yaml").write_text(BRIEF)
    (tmp_path / "wrong.yaml").write_text(BRIEF.replace("hypothesis:", "hypotesis:"))
    context = ("section", "introduction", "--context", str(tmp_path / "paper.yaml"))
    async with openai_world(by_schema(SECTION)) as world:
        env = {**alone(tmp_path), "OPENAI_BASE_URL": world.url}
        await gorkd("library", "add", str(tmp_path / "tides.md"), env=alone(tmp_path))

        written = await gorkd(*context, "-o", str(tmp_path / "intro.md"), env=env)
        shown = await gorkd(*context, "--author-years", env=env)
        asked = len(world.calls)
        refused = await gorkd(*context[:3], str(tmp_path / "wrong.yaml"), env=env)
        nowhere = await gorkd(*context, "-o", str(tmp_path / "gone" / "intro.md"), env=env)

    prose = (tmp_path / "intro.md").read_text("utf-8")
    (entry,) = bibtexparser.parse_string((tmp_path / "intro.bib").read_text("utf-8")).entries
    assert written.code == 0, written.err
    assert f"wrote {tmp_path / 'intro.tex'}" in written.err
    assert f"({entry.key})" in prose
    assert f"\\cite{{{entry.key}}}" in (tmp_path / "intro.tex").read_text("utf-8")
    assert shown.out == prose.replace(f"({entry.key})", "[Tides and the Moon, n.d.]")
    assert (refused.code, nowhere.code, len(world.calls)) == (2, 2, asked)
    assert f"{tmp_path / 'gone' / 'intro.md'} cannot be written: No such file or directory." in nowhere.err
    assert "wrong.yaml: there is no field hypotesis; docs/section.md lists those there are." in refused.err
