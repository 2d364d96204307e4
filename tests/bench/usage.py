"""What a process and its descendants cost, read from /proc: processor seconds and resident memory."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_MIB = 1024  # /proc counts in KiB


def family(pid: int) -> list[int]:
    """`pid` and every process below it that lives now."""
    parents: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for member in found:
        found += parents.get(member, [])
    return found


def cpu_s(pid: int) -> float:
    """Processor seconds, user and system, of the family so far, and of its members that ended and were waited for."""
    return sum(sum(map(int, fields[11:15])) for member in family(pid) if (fields := _stat(member))) * _TICK_S


def rss_mib(pid: int) -> float:
    """Resident memory of the family. What forks still share of their parent's counts once, files once for each."""
    return sum(_kib(member, "status", "VmRSS") - _shared(member) for member in family(pid)) / _MIB


def peak_mib(pid: int) -> float:
    """The most that each member ever had resident, less what it shares now, added up."""
    return sum(_kib(member, "status", "VmHWM") - _shared(member) for member in family(pid)) / _MIB


def _shared(pid: int) -> int:
    """KiB of memory, files apart, that others of the family are counted for."""
    own = _kib(pid, "smaps_rollup", "Pss_Anon")
    return _kib(pid, "status", "RssAnon") - own if own else 0


def _stat(pid: int) -> list[str]:
    """The fields after the name, of which the first is the state; empty when the process is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _kib(pid: int, file: str, name: str) -> int:
    """What stands behind `name` in one of the process's files; 0 when it or the process is not there."""
    try:
        lines = (_PROC / str(pid) / file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
