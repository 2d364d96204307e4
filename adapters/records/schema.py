"""The tables of gorkd's records, as migrations that only ever grow at the end; the same on SQLite and on PostgreSQL.

What the databases call differently stands as `<word>` in a statement and in `_WORDS`; a statement for one of them is
an `Only`. What we encode is kept as text, which unlike PostgreSQL's `jsonb` takes the escape of NUL; text that is not
encoded is kept as bytes, and keys as digests. A row that says what somebody asked carries its tenant and visibility;
what belongs to a job goes with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from adapters.records.sql import Dialect, Sql, insertion
from core.model.errors import SetupError

_SAME = {
    "<job>": "job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE",
    "<only job>": "job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE",
    "<whose>": "tenant TEXT NOT NULL, visibility TEXT NOT NULL",
}
_WORDS: dict[Dialect, dict[str, str]] = {
    "sqlite": {
        **_SAME,
        "<moment>": "REAL",  # seconds since 1970 UTC
        "<bytes>": "BLOB",
        "<raw>": "TEXT",  # holds bytes: columns keep the type that they were made with
        "<number>": "REAL",
        "<count>": "INTEGER",
        "<flag>": "INTEGER",
        "<numbered>": "INTEGER PRIMARY KEY AUTOINCREMENT",  # no number is given twice
        "<order>": "",  # every row has its rowid
        "<words>": "",
        "<keyed>": " WITHOUT ROWID",
        "<naive>": "DATETIME",
        "<naive now>": "CURRENT_TIMESTAMP",
    },
    "postgres": {
        **_SAME,
        "<moment>": "TIMESTAMPTZ",
        "<bytes>": "BYTEA",
        "<raw>": "BYTEA",
        "<number>": "DOUBLE PRECISION",
        "<count>": "BIGINT",
        "<flag>": "BOOLEAN",
        "<numbered>": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "<order>": "number BIGINT GENERATED ALWAYS AS IDENTITY, ",
        "<words>": ", words TSVECTOR NOT NULL",
        "<keyed>": "",
        "<naive>": "TIMESTAMP",
        "<naive now>": "(now() AT TIME ZONE 'utc')",
    },
}
# Versions 1 to 18 of PostgreSQL were counted by themselves, and are called so here.
_COUNTED_OTHERWISE = (2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18, 19)


@dataclass(frozen=True)
class Only:
    """Statements for one of the databases."""

    dialect: Dialect
    statements: tuple[str, ...]


def _sqlite(*statements: str) -> Only:
    return Only("sqlite", statements)


def _postgres(*statements: str) -> Only:
    return Only("postgres", statements)


_EVENTS = """CREATE TABLE IF NOT EXISTS events (
    <job>, seq INTEGER NOT NULL, <whose>, attempt INTEGER NOT NULL, type TEXT NOT NULL, at <moment> NOT NULL,
    data TEXT NOT NULL, PRIMARY KEY (job_id, seq))<keyed>"""
_EVENTS_BY_AGE = "CREATE INDEX IF NOT EXISTS events_by_age ON events (at)"
_ANSWERS = (
    # A log: rows are added and removed, never changed. Keys are digests.
    """CREATE TABLE answers (
        number <numbered>, <whose>, key <bytes> NOT NULL, grouping <bytes> NOT NULL, <job>,
        created_at <moment> NOT NULL, expires_at <moment> NOT NULL, vector <bytes>)""",
    "CREATE UNIQUE INDEX answers_by_key ON answers (tenant, visibility, key)",
    "CREATE INDEX answers_by_place ON answers (tenant, visibility, grouping, number) WHERE vector IS NOT NULL",
    "CREATE INDEX answers_by_expiry ON answers (expires_at)",
    "CREATE INDEX answers_by_job ON answers (job_id)",
)
_FTS5 = "USING fts5 (place, text, tokenize = 'porter unicode61 remove_diacritics 2')"

# One tuple of statements a version; an applied one is never edited.
_MIGRATIONS: tuple[tuple[str | Only, ...], ...] = (
    (
        """CREATE TABLE jobs (
            id TEXT PRIMARY KEY, <order><whose>, status TEXT NOT NULL, attempt INTEGER NOT NULL,
            created_at <moment> NOT NULL, dedupe_key <raw>, job TEXT NOT NULL, result TEXT)""",
        "CREATE UNIQUE INDEX jobs_by_dedupe_key ON jobs (tenant, visibility, dedupe_key) WHERE dedupe_key IS NOT NULL",
        "CREATE INDEX jobs_by_age ON jobs (tenant, visibility, created_at)",
        _sqlite("CREATE INDEX jobs_by_status ON jobs (status, created_at)", _EVENTS),
        _postgres(
            """CREATE INDEX jobs_unfinished ON jobs (created_at, number)
                WHERE status NOT IN ('completed', 'failed', 'cancelled')"""
        ),
        """CREATE TABLE sources (
            <job>, number INTEGER NOT NULL, <whose>, attempt INTEGER NOT NULL, source TEXT NOT NULL,
            PRIMARY KEY (job_id, number))""",
        """CREATE TABLE memos (
            <job>, key <raw> NOT NULL, <whose>, text <raw> NOT NULL, PRIMARY KEY (job_id, key))<keyed>""",
    ),
    (
        # The columns, types and indexes of S002-16, and whose row it is.
        """CREATE TABLE tool_traces (
            id VARCHAR(36) PRIMARY KEY, user_id TEXT NOT NULL, org_id TEXT, tool_name VARCHAR(100) NOT NULL,
            input_params JSON, status VARCHAR(50) DEFAULT 'pending', progress FLOAT DEFAULT 0.0,
            current_stage VARCHAR(100), state JSON DEFAULT '{}', result JSON, error_message TEXT,
            created_at <naive> DEFAULT <naive now>, started_at <naive>, completed_at <naive>,
            metrics JSON DEFAULT '{}', <whose>)""",
        "CREATE INDEX ix_tool_traces_tool_name ON tool_traces (tool_name)",
        "CREATE INDEX idx_tool_traces_user_tool ON tool_traces (user_id, tool_name)",
        "CREATE INDEX idx_tool_traces_status ON tool_traces (status)",
        "CREATE TABLE heartbeats (worker_id TEXT PRIMARY KEY, beat_at <moment> NOT NULL)<keyed>",
        _sqlite(  # elsewhere they lie in Redis
            "CREATE TABLE buckets (key TEXT PRIMARY KEY, full_at <moment> NOT NULL)<keyed>",
            "CREATE INDEX buckets_by_age ON buckets (full_at)",
            """CREATE TABLE flights (
                <whose>, key <bytes> NOT NULL, job_id TEXT NOT NULL, expires_at <moment> NOT NULL,
                PRIMARY KEY (tenant, visibility, key))<keyed>""",
            "CREATE INDEX flights_by_expiry ON flights (expires_at)",
            "CREATE INDEX flights_by_job ON flights (job_id)",
        ),
    ),
    (
        """CREATE TABLE trace_entries (
            <job>, number INTEGER NOT NULL, <whose>, at <moment> NOT NULL, entry TEXT NOT NULL,
            PRIMARY KEY (job_id, number))<keyed>""",
        "CREATE INDEX trace_entries_by_age ON trace_entries (at)",
        _sqlite(_EVENTS_BY_AGE),
        """CREATE TABLE spending (
            tenant TEXT NOT NULL, asker TEXT NOT NULL, month TEXT NOT NULL, model TEXT NOT NULL,
            prompt_tokens <count> NOT NULL, completion_tokens <count> NOT NULL, cost_usd <number> NOT NULL,
            PRIMARY KEY (tenant, month, asker, model))<keyed>""",
        # A worker that still runs a forgotten job must not store it again.
        "CREATE TABLE forgotten (job_id TEXT PRIMARY KEY, at <moment> NOT NULL)<keyed>",
        _sqlite(
            """CREATE TRIGGER jobs_stay_forgotten BEFORE INSERT ON jobs
                WHEN EXISTS (SELECT 1 FROM forgotten WHERE job_id = NEW.id)
                BEGIN SELECT RAISE(ABORT, 'the job was forgotten'); END"""
        ),
        _postgres(
            """CREATE FUNCTION refuse_forgotten_job() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF EXISTS (SELECT 1 FROM forgotten WHERE job_id = NEW.id) THEN
                        RAISE EXCEPTION 'the job was forgotten';
                    END IF;
                    RETURN NEW;
                END $$""",
            """CREATE TRIGGER jobs_stay_forgotten BEFORE INSERT ON jobs
                FOR EACH ROW EXECUTE FUNCTION refuse_forgotten_job()""",
        ),
    ),
    (
        # What people say to a running job, in the order they said it.
        """CREATE TABLE steering (
            <job>, number INTEGER NOT NULL, <whose>, steering TEXT NOT NULL, PRIMARY KEY (job_id, number))<keyed>""",
    ),
    ("CREATE TABLE link_revocations (<only job>, <whose>, revoked_at <moment> NOT NULL)<keyed>",),
    (
        "ALTER TABLE jobs ADD COLUMN thread TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE jobs ADD COLUMN asker TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX jobs_by_thread ON jobs (tenant, visibility, thread, created_at) WHERE thread != ''",
        "CREATE INDEX jobs_by_asker ON jobs (tenant, asker, created_at) WHERE asker != ''",
        """CREATE TABLE addresses (
            <only job>, <whose>, platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at <moment> NOT NULL,
            expires_at <moment>)""",
        "CREATE INDEX addresses_by_platform ON addresses (platform, put_at)",
        """CREATE TABLE attachments (
            <job>, number INTEGER NOT NULL, <whose>, attachment TEXT NOT NULL, PRIMARY KEY (job_id, number))<keyed>""",
        """CREATE TABLE ratings (
            <job>, asker TEXT NOT NULL, <whose>, at <moment> NOT NULL, rating TEXT NOT NULL,
            PRIMARY KEY (job_id, asker))<keyed>""",
    ),
    (
        _sqlite(
            "DROP TABLE IF EXISTS answers",  # of an earlier kind
            *_ANSWERS,
            "CREATE INDEX answers_by_age ON answers (created_at)",
            # Public pages and search results, for whoever needs them next; what was asked is in no column.
            "CREATE TABLE reused (key <bytes> PRIMARY KEY, text TEXT NOT NULL, expires_at <moment> NOT NULL)<keyed>",
            "CREATE INDEX reused_by_expiry ON reused (expires_at)",
        ),
    ),
    (
        # Papers on shelves: a shelf is a tenant and a visibility, and nobody else looks into it.
        """CREATE TABLE papers (
            <whose>, id TEXT NOT NULL, content_hash TEXT NOT NULL, paper TEXT NOT NULL, text TEXT NOT NULL,
            file <bytes> NOT NULL, PRIMARY KEY (tenant, visibility, id))<keyed>""",
        # Rows are added and removed, never changed: mirrors rely on it.
        """CREATE TABLE paper_chunks (
            number <numbered>, <whose>, paper_id TEXT NOT NULL, kind TEXT NOT NULL, chunk TEXT NOT NULL,
            vector <bytes><words>,
            FOREIGN KEY (tenant, visibility, paper_id) REFERENCES papers (tenant, visibility, id) ON DELETE CASCADE)""",
        "CREATE INDEX paper_chunks_by_paper ON paper_chunks (tenant, visibility, kind, paper_id)",
        "CREATE INDEX paper_chunks_by_shelf ON paper_chunks (tenant, visibility, kind, number)",
        _sqlite(
            "CREATE VIRTUAL TABLE paper_words USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')",
            """CREATE TRIGGER paper_words_forget AFTER DELETE ON paper_chunks
                BEGIN DELETE FROM paper_words WHERE rowid = old.number; END""",
        ),
        _postgres("CREATE INDEX paper_chunks_by_words ON paper_chunks USING gin (words)"),
    ),
    (
        # Words know their shelf and their paper, so that a search reads no row of another; mirrors count vectors alone.
        _sqlite(
            "DROP TABLE paper_words",
            f"CREATE VIRTUAL TABLE paper_words {_FTS5}",
            """INSERT INTO paper_words (rowid, place, text)
                SELECT c.number,
                    place_token(c.tenant, c.visibility, c.kind) || ' '
                        || place_token(c.tenant, c.visibility, c.kind, c.paper_id),
                    json_extract(p.paper, '$.value.title') || char(10) || json_extract(c.chunk, '$.value.heading')
                        || char(10) || json_extract(c.chunk, '$.value.chunk_text')
                FROM paper_chunks c JOIN papers p
                    ON (p.tenant, p.visibility, p.id) = (c.tenant, c.visibility, c.paper_id)""",
        ),
        "DROP INDEX paper_chunks_by_shelf",
        """CREATE INDEX paper_vectors_by_shelf ON paper_chunks (tenant, visibility, kind, number)
            WHERE vector IS NOT NULL""",
    ),
    (
        # Where a conversation with a library stands; `job_id` is the answer it shows, "" for none.
        """CREATE TABLE conversations (
            <whose>, thread TEXT NOT NULL, asker TEXT NOT NULL, job_id TEXT NOT NULL, put_at <moment> NOT NULL,
            conversation TEXT NOT NULL, PRIMARY KEY (tenant, visibility, thread))<keyed>""",
        "CREATE INDEX conversations_by_age ON conversations (put_at)",
    ),
    (
        # What a workspace gave when it installed the app; a departure outlives what it removes, so it has no `tenant`.
        "CREATE TABLE installations (tenant TEXT PRIMARY KEY, sealed TEXT NOT NULL, put_at <moment> NOT NULL)<keyed>",
        "CREATE TABLE one_time_states (key <bytes> PRIMARY KEY, expires_at <moment> NOT NULL)<keyed>",
        """CREATE TABLE departures (
            account TEXT PRIMARY KEY, left_at <moment> NOT NULL, is_erased <flag> NOT NULL)<keyed>""",
        "CREATE TABLE turns (name TEXT PRIMARY KEY, holder TEXT NOT NULL, ends_at <moment> NOT NULL)<keyed>",
    ),
    (
        # An index each: to search a few summaries, either database would go through each word in all full texts too.
        _sqlite(
            f"CREATE VIRTUAL TABLE summary_words {_FTS5}",
            """INSERT INTO summary_words (rowid, place, text)
                SELECT w.rowid, place_token(c.tenant, c.visibility, c.kind), w.text
                FROM paper_chunks c JOIN paper_words w ON w.rowid = c.number WHERE c.kind = 'summary'""",
            "DELETE FROM paper_words WHERE rowid IN (SELECT number FROM paper_chunks WHERE kind = 'summary')",
            "DROP TRIGGER paper_words_forget",
            "ALTER TABLE paper_words RENAME TO content_words",
            """CREATE TRIGGER summary_words_forget AFTER DELETE ON paper_chunks WHEN old.kind = 'summary'
                BEGIN DELETE FROM summary_words WHERE rowid = old.number; END""",
            """CREATE TRIGGER content_words_forget AFTER DELETE ON paper_chunks WHEN old.kind = 'content'
                BEGIN DELETE FROM content_words WHERE rowid = old.number; END""",
        ),
        _postgres(
            "DROP INDEX paper_chunks_by_words",
            "CREATE INDEX summary_words ON paper_chunks USING gin (words) WHERE kind = 'summary'",
            "CREATE INDEX content_words ON paper_chunks USING gin (words) WHERE kind = 'content'",
        ),
    ),
    (
        # What a tenant has set for itself, and every change of it.
        """CREATE TABLE tenant_settings (
            tenant TEXT PRIMARY KEY, version INTEGER NOT NULL, settings TEXT NOT NULL)<keyed>""",
        """CREATE TABLE setting_changes (
            number <numbered>, tenant TEXT NOT NULL, key TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
            who TEXT NOT NULL, at <moment> NOT NULL)""",
        "CREATE INDEX setting_changes_by_tenant ON setting_changes (tenant, number)",
    ),
    (
        # The figures of a result, which usage is counted from; the index holds them, so that counting reads no answer.
        "ALTER TABLE jobs ADD COLUMN seconds <number>",
        "ALTER TABLE jobs ADD COLUMN confidence TEXT",
        "ALTER TABLE jobs ADD COLUMN cost_usd <number>",
        "ALTER TABLE jobs ADD COLUMN is_cached INTEGER",
        _sqlite(
            """UPDATE jobs SET seconds = json_extract(result, '$.value.duration_s'),
                confidence = json_extract(result, '$.value.answer.confidence'),
                cost_usd = json_extract(result, '$.value.answer.metadata.cost_usd'),
                is_cached = json_extract(result, '$.value.cached_at') IS NOT NULL
                WHERE result IS NOT NULL"""
        ),
        _postgres(  # JSON with an escaped NUL cannot be looked into; such an old answer counts as a question only
            r"""UPDATE jobs SET seconds = (result::json #>> '{value,duration_s}')::double precision,
                confidence = result::json #>> '{value,answer,confidence}',
                cost_usd = (result::json #>> '{value,answer,metadata,cost_usd}')::double precision,
                is_cached = ((result::json #>> '{value,cached_at}') IS NOT NULL)::integer
                WHERE result IS NOT NULL AND position('\u0000' IN result) = 0"""
        ),
        "CREATE INDEX jobs_by_day ON jobs (tenant, created_at, status, seconds, confidence, cost_usd, is_cached)",
    ),
    (
        # Messages that somebody waits for although no job stands behind them.
        """CREATE TABLE open_messages (
            key TEXT PRIMARY KEY, <whose>, asker TEXT NOT NULL, platform TEXT NOT NULL, sealed TEXT NOT NULL,
            put_at <moment> NOT NULL, expires_at <moment>)""",
    ),
    (
        # Whose departure would be missed while nobody listens, by the platform's own id of the app.
        "CREATE TABLE memberships (app TEXT NOT NULL, tenant TEXT NOT NULL, PRIMARY KEY (app, tenant))<keyed>",
    ),
    (
        # Where chats show a job; and, once it is forgotten, what is yet to be taken away, which says no longer whose.
        """CREATE TABLE shown (
            key TEXT PRIMARY KEY, <job>, <whose>, platform TEXT NOT NULL, sealed TEXT NOT NULL,
            expires_at <moment>)<keyed>""",
        "CREATE INDEX shown_by_job ON shown (job_id)",
        """CREATE TABLE condemned (
            key TEXT PRIMARY KEY, platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at <moment> NOT NULL,
            expires_at <moment>)<keyed>""",
    ),
    (
        # Signed-in sessions that somebody ended, until they would have ended by themselves; a row to try writing with.
        "CREATE TABLE ended_sessions (id TEXT PRIMARY KEY, until <moment> NOT NULL)<keyed>",
        "CREATE TABLE tries (name TEXT PRIMARY KEY, at <moment> NOT NULL)<keyed>",
    ),
    (
        # From here on the databases hold the same: keys as digests and texts as bytes, events and answers beside jobs.
        _sqlite(
            "UPDATE jobs SET dedupe_key = digest(dedupe_key) WHERE dedupe_key IS NOT NULL",
            "UPDATE memos SET key = digest(key), text = CAST(text AS BLOB)",
        ),
        _postgres(_EVENTS, _EVENTS_BY_AGE, *_ANSWERS),
    ),
    (
        # The work of which a paper is a version; of what stands here already arXiv's ids tell it (core/model/works.py).
        "ALTER TABLE papers ADD COLUMN work TEXT NOT NULL DEFAULT ''",
        _sqlite(
            """UPDATE papers SET work = CASE
                WHEN id GLOB '[0-9][0-9][0-9][0-9].[0-9][0-9][0-9][0-9]*v[0-9]*' OR id GLOB '*/[0-9]*v[0-9]*'
                THEN rtrim(rtrim(id, '0123456789'), 'v') ELSE id END"""
        ),
        _postgres(
            r"""UPDATE papers SET work = CASE
                WHEN id ~ '^(\d{4}\.\d{4,5}|.+/\d{7})v\d+$' THEN regexp_replace(id, 'v\d+$', '') ELSE id END"""
        ),
        "CREATE INDEX papers_by_work ON papers (tenant, visibility, work)",
    ),
    (
        # When the works behind an answer's sources are asked about again; where it stands then, and what is said there.
        """CREATE TABLE standing_checks (
            <only job>, <whose>, due_at <moment> NOT NULL, watched_until <moment> NOT NULL)<keyed>""",
        "CREATE INDEX standing_checks_by_time ON standing_checks (due_at)",
        """CREATE TABLE answer_places (
            <only job>, <whose>, platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at <moment> NOT NULL,
            expires_at <moment>, correction TEXT NOT NULL DEFAULT '')""",
    ),
    (
        # What a passage of a paper means for a query, for every job of the place; it goes with the job that paid.
        """CREATE TABLE paper_readings (
            <whose>, key <bytes> NOT NULL, <job>, paper_id TEXT NOT NULL, text <bytes> NOT NULL,
            PRIMARY KEY (tenant, visibility, key))<keyed>""",
        "CREATE INDEX paper_readings_by_job ON paper_readings (job_id)",
    ),
    (
        # Questions that somebody made tests of, with what an answer must say; and which of them were answered rightly.
        """CREATE TABLE evaluation_cases (
            <only job>, <whose>, must TEXT NOT NULL, at <moment> NOT NULL)<keyed>""",
        """CREATE TABLE grades (
            key TEXT PRIMARY KEY, level TEXT NOT NULL, is_right <count> NOT NULL, at <moment> NOT NULL)<keyed>""",
    ),
    (
        # Watches, with the jobs that they go with: the answer that is watched, and the one that was told last.
        """CREATE TABLE watches (
            id TEXT PRIMARY KEY, <whose>, asker TEXT NOT NULL, is_active <flag> NOT NULL, next_at <moment> NOT NULL,
            version INTEGER NOT NULL, origin TEXT REFERENCES jobs (id) ON DELETE CASCADE,
            told TEXT REFERENCES jobs (id) ON DELETE CASCADE, watch TEXT NOT NULL, platform TEXT NOT NULL,
            sealed TEXT NOT NULL)<keyed>""",
        "CREATE INDEX watches_due ON watches (is_active, next_at)",
        "CREATE INDEX watches_by_origin ON watches (origin)",
        "CREATE INDEX watches_by_told ON watches (told)",
        """CREATE TABLE watched_pages (
            watch_id TEXT NOT NULL REFERENCES watches (id) ON DELETE CASCADE, is_seen <flag> NOT NULL,
            number INTEGER NOT NULL, <whose>, page TEXT NOT NULL, PRIMARY KEY (watch_id, is_seen, number))<keyed>""",
        """CREATE TABLE notices (
            watch_id TEXT NOT NULL REFERENCES watches (id) ON DELETE CASCADE, number INTEGER NOT NULL, <job>, <whose>,
            at <moment> NOT NULL, notice TEXT NOT NULL, PRIMARY KEY (watch_id, number))<keyed>""",
        "CREATE INDEX notices_by_job ON notices (job_id, at)",
    ),
    (
        # Where a watch tells, by the word that its end is heard under; what its looks cost; what cannot be read.
        "ALTER TABLE watches ADD COLUMN place TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE watches ADD COLUMN looks_usd <number> NOT NULL DEFAULT 0",
        "ALTER TABLE watches ADD COLUMN is_unreadable <flag> NOT NULL DEFAULT FALSE",
        "CREATE INDEX watches_by_place ON watches (tenant, place)",
        # What is to be told and has not arrived: behind others of its job, or in a digest. It goes out at the
        # address of the job `carrier`.
        """CREATE TABLE tellings (
            watch_id TEXT NOT NULL REFERENCES watches (id) ON DELETE CASCADE, number INTEGER NOT NULL, <job>, <whose>,
            place TEXT NOT NULL, platform TEXT NOT NULL, sealed TEXT NOT NULL, is_digest <flag> NOT NULL,
            due_at <moment> NOT NULL, carrier TEXT NOT NULL DEFAULT '', PRIMARY KEY (watch_id, number))<keyed>""",
        "CREATE INDEX tellings_by_job ON tellings (job_id)",
        "CREATE INDEX tellings_by_carrier ON tellings (carrier)",
    ),
    (
        # Grades told a question by its hash, and outlived its job; whoever could guess the question could find it.
        "DROP TABLE grades",
        """CREATE TABLE grades (
            key TEXT PRIMARY KEY, job_id TEXT NOT NULL, level TEXT NOT NULL, is_right <count> NOT NULL,
            at <moment> NOT NULL)<keyed>""",
        "CREATE INDEX grades_by_job ON grades (job_id)",
    ),
)
NEWEST = len(_MIGRATIONS)

_KNOWN = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at <moment>)"
_APPLIED = insertion("schema_version", "version, applied_at", key="version")


def steps(dialect: Dialect) -> list[list[str]]:
    """The statements of each version, in the words of a database."""
    return [
        [_worded(statement, dialect) for part in version for statement in _statements(part, dialect)]
        for version in _MIGRATIONS
    ]


_CHANGED = re.compile(
    r"(?i)^\s*(?:CREATE TABLE|ALTER TABLE|UPDATE|DROP TABLE|INSERT INTO|DELETE FROM) (?:IF (?:NOT )?EXISTS )?(\w+)"
)


@dataclass(frozen=True)
class Outlook:
    """What a start would do to a database: its version now, 0 for none, and the tables that it would make or change."""

    version: int
    tables: tuple[str, ...]


def outlook(sql: Sql) -> Outlook:
    """Nothing is changed. Without our tables `version` is 0."""
    table = "sqlite_master WHERE name" if sql.dialect == "sqlite" else "pg_tables WHERE tablename"
    if not sql.rows(f"SELECT 1 FROM {table} = 'schema_version'"):  # noqa: S608 -- a constant of the line above
        return Outlook(0, ())
    ((written,),) = sql.rows("SELECT COALESCE(MAX(version), 0) FROM schema_version")
    version = _counted(sql.dialect, written)
    changed = [_CHANGED.match(statement) for version in steps(sql.dialect)[version:] for statement in version]
    return Outlook(version, tuple(dict.fromkeys(match[1] for match in changed if match)))


def migrate(sql: Sql, *, named: str, setting: str) -> None:
    """Bring the tables to the newest version, in a transaction that keeps out whoever would do the same.

    On SQLite the connection must know the functions `digest` and `place_token`. `named` is the database as its
    operator knows it, `setting` says where. Raises `SetupError` when a newer gorkd has written it.
    """
    sql.execute(_worded(_KNOWN, sql.dialect))
    ((written,),) = sql.rows("SELECT COALESCE(MAX(version), 0) FROM schema_version")
    version = _counted(sql.dialect, written)
    if version > NEWEST:
        raise SetupError(
            f"{named} was written by a newer gorkd (version {version}, this one knows {NEWEST}). "
            f"Start the newer gorkd or point {setting} to another one."
        )
    for statements in steps(sql.dialect)[version:]:
        for statement in statements:
            sql.execute(statement)
    if written < NEWEST:
        now = datetime.now(UTC)
        sql.execute_all(_APPLIED, [(number, now) for number in range(1, NEWEST + 1)])


def _counted(dialect: Dialect, written: int) -> int:
    was_apart = dialect == "postgres" and 0 < written <= len(_COUNTED_OTHERWISE)
    return _COUNTED_OTHERWISE[written - 1] if was_apart else written


def _statements(part: str | Only, dialect: Dialect) -> tuple[str, ...]:
    if isinstance(part, str):
        return (part,)
    return part.statements if part.dialect == dialect else ()


def _worded(statement: str, dialect: Dialect) -> str:
    return re.sub(r"<[a-z ]+>", lambda word: _WORDS[dialect][word[0]], statement)
