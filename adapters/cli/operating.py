"""What the operator's commands work on, handed in by whoever builds the command line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from core.evaluation.calibration import EvaluationStore
from core.library.desk import LibraryDesk
from core.library.session import LibraryTalks
from core.model.ports import AnswerCache, JobStore, PageFetcher, ReuseStore, SourceStore
from core.pipeline.checkup import Finding, FoundServer, Trials
from core.pipeline.deps import Deps
from core.pipeline.trace import TraceStore
from core.pipeline.tracing import TraceLog
from core.presentation.page_links import PageLinks, Revocations
from core.receipts.container import Receipts
from core.settings.desk import SettingsDesk
from core.tenancy.forgetting import Forgotten, Whose
from core.tenancy.usage import UsageLog


@dataclass(frozen=True)
class Chatting:
    """`folder` is the data folder, where results are saved and papers that are opened lie.

    `viewer` is the program that shows a PDF on this machine's screen, "" for none.
    """

    talks: LibraryTalks
    folder: Path
    viewer: str = ""


OpenChatting = Callable[[], AbstractAsyncContextManager[Chatting]]


@dataclass(frozen=True)
class Kept:
    """What is kept of jobs and to be given again, and how to let go of it."""

    jobs: JobStore
    traces: TraceLog
    tool_traces: TraceStore
    forget: Callable[[Whose], Awaitable[Forgotten]]
    cache: AnswerCache
    reuse: ReuseStore
    links: Callable[[], PageLinks]
    revocations: Revocations
    usage: UsageLog
    sources: SourceStore
    receipts: Callable[[], Receipts]
    evaluations: EvaluationStore


@dataclass(frozen=True)
class Setup:
    """What `gorkd init` works on: `kept` stands in `file` or in the environment already, `keep` adds lines to the file.

    `variables` are all settings there are, `manifest` the text that makes a Slack app. `examine` tries the installation
    as it would be with more settings; only the parts whose name begins with its second argument, "" for all.
    """

    file: Path
    kept: Mapping[str, str]
    variables: frozenset[str]
    keep: Callable[[Mapping[str, str]], None]
    examine: Callable[[Mapping[str, str], str], Awaitable[list[Finding]]]
    find_servers: Callable[[], Awaitable[list[FoundServer]]]
    manifest: str


@dataclass(frozen=True)
class Operating:
    """`open_kept` opens the stores for one command, `open_library` the papers, `open_settings` what tenants have set;
    `open_chatting` all that a conversation with the library needs; `examine` looks at every part, `open_trials` at what
    the model endpoints can do, and `foresee` at what a start of this version would change. `setup` is for `gorkd init`.
    `open_pages` reads pages as they are now, `open_laboratory` gives what a question needs, with settings changed and
    records of its own.
    """

    open_kept: Callable[[], AbstractAsyncContextManager[Kept]]
    examine: Callable[[], Awaitable[list[Finding]]]
    open_library: Callable[[], AbstractAsyncContextManager[LibraryDesk]]
    open_settings: Callable[[], AbstractAsyncContextManager[SettingsDesk]]
    open_chatting: OpenChatting
    open_trials: Callable[[], AbstractAsyncContextManager[Trials]]
    foresee: Callable[[], Awaitable[list[Finding]]]
    setup: Callable[[], Setup]
    open_laboratory: Callable[[Mapping[str, str]], AbstractAsyncContextManager[Deps]]
    open_pages: Callable[[], AbstractAsyncContextManager[PageFetcher]]
