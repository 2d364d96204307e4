"""Small PDF files with real text, the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence


def make_pdf(*pages: Sequence[str], title: str = "Tides and the Moon") -> bytes:
    """A page for each list of lines, set in Helvetica 14 from the top of a page of 400 by 300 points."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = "".join(f"({line}) Tj 0 -20 Td " for line in lines)
        content = f"BT /F1 14 Tf 30 260 Td {shown}ET".encode()
        place = f"/Contents {5 + 2 * number} 0 R /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 300] {place} >>".encode())
        objects.append(f"<< /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream")
    objects.append(f"<< /Title ({title}) >>".encode())
    return _written(objects)


def _written(objects: Sequence[bytes]) -> bytes:
    file = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(file))
        file += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{rows}"
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
    return bytes(file) + f"{table}{trailer}startxref\n{len(file)}\n%%EOF\n".encode()
