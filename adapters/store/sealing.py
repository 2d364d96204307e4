"""Addresses of waiting messages as sealed text: they may hold tokens, so no row says what is in them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from datetime import UTC, datetime

from core.delivery import Address, Sealer
from core.errors import StoreError

logger = logging.getLogger(__name__)


def seal_data(address: Address, box: Sealer) -> str:
    """Raises `StoreError` for data that cannot be stored."""
    try:
        return box.seal(json.dumps(dict(address.data)))
    except (TypeError, ValueError) as exc:
        raise StoreError(f"an address cannot be stored: {exc}") from exc


def open_addresses(
    rows: Iterable[tuple[str, str, str, datetime | float | None]], box: Sealer
) -> list[tuple[str, Address]]:
    """From (job id, platform, sealed data, expiry); what another secret has sealed is left out with a warning."""
    found: list[tuple[str, Address]] = []
    for job_id, platform, sealed, expiry in rows:
        expires_at = datetime.fromtimestamp(expiry, UTC) if isinstance(expiry, float | int) else expiry
        try:
            found.append((job_id, Address(platform, json.loads(box.open(sealed)), expires_at)))
        except (StoreError, ValueError) as exc:
            logger.warning("an address is lost", extra={"job": job_id, "error": str(exc)})
    return found
