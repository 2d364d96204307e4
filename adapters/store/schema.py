"""The tables of gorkd.db, as migrations that only ever grow at the end.

Times are seconds since 1970 UTC, except in `tool_traces`, whose columns are given. A row that says what
somebody asked carries its tenant and visibility; what belongs to a job goes with it.
"""

from __future__ import annotations

import time
from pathlib import Path

from sqlite_utils import Database as Connection

from adapters.store.sql import digest, place_token
from core.errors import SetupError

# One tuple of statements a version; an applied one is never edited.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE jobs (
            id TEXT PRIMARY KEY, tenant TEXT NOT NULL, visibility TEXT NOT NULL, status TEXT NOT NULL,
            attempt INTEGER NOT NULL, created_at REAL NOT NULL, dedupe_key TEXT, job TEXT NOT NULL, result TEXT)""",
        "CREATE UNIQUE INDEX jobs_by_dedupe_key ON jobs (tenant, visibility, dedupe_key) WHERE dedupe_key IS NOT NULL",
        "CREATE INDEX jobs_by_age ON jobs (tenant, visibility, created_at)",
        "CREATE INDEX jobs_by_status ON jobs (status, created_at)",
        """CREATE TABLE sources (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, attempt INTEGER NOT NULL, source TEXT NOT NULL,
            PRIMARY KEY (job_id, number))""",
        """CREATE TABLE events (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, seq INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, attempt INTEGER NOT NULL, type TEXT NOT NULL,
            at REAL NOT NULL, data TEXT NOT NULL,
            PRIMARY KEY (job_id, seq)) WITHOUT ROWID""",
        """CREATE TABLE memos (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, key TEXT NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, text TEXT NOT NULL,
            PRIMARY KEY (job_id, key)) WITHOUT ROWID""",
        """CREATE TABLE answers (
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, key TEXT NOT NULL,
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
            created_at REAL NOT NULL, expires_at REAL NOT NULL,
            PRIMARY KEY (tenant, visibility, key))""",
        "CREATE INDEX answers_by_age ON answers (created_at)",
        "CREATE INDEX answers_by_expiry ON answers (expires_at)",
        "CREATE INDEX answers_by_job ON answers (job_id)",
    ),
    (
        # The columns, types and indexes of S002-16, and whose row it is.
        """CREATE TABLE tool_traces (
            id VARCHAR(36) PRIMARY KEY, user_id TEXT NOT NULL, org_id TEXT, tool_name VARCHAR(100) NOT NULL,
            input_params JSON, status VARCHAR(50) DEFAULT 'pending', progress FLOAT DEFAULT 0.0,
            current_stage VARCHAR(100), state JSON DEFAULT '{}', result JSON, error_message TEXT,
            created_at DATETIME DEFAULT CURRENT_TIMESTAMP, started_at DATETIME, completed_at DATETIME,
            metrics JSON DEFAULT '{}', tenant TEXT NOT NULL, visibility TEXT NOT NULL)""",
        "CREATE INDEX ix_tool_traces_tool_name ON tool_traces (tool_name)",
        "CREATE INDEX idx_tool_traces_user_tool ON tool_traces (user_id, tool_name)",
        "CREATE INDEX idx_tool_traces_status ON tool_traces (status)",
        "CREATE TABLE heartbeats (worker_id TEXT PRIMARY KEY, beat_at REAL NOT NULL) WITHOUT ROWID",
        "CREATE TABLE buckets (key TEXT PRIMARY KEY, full_at REAL NOT NULL) WITHOUT ROWID",
        "CREATE INDEX buckets_by_age ON buckets (full_at)",
        """CREATE TABLE flights (
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, key BLOB NOT NULL, job_id TEXT NOT NULL,
            expires_at REAL NOT NULL,
            PRIMARY KEY (tenant, visibility, key)) WITHOUT ROWID""",
        "CREATE INDEX flights_by_expiry ON flights (expires_at)",
        "CREATE INDEX flights_by_job ON flights (job_id)",
    ),
    (
        """CREATE TABLE trace_entries (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, at REAL NOT NULL, entry TEXT NOT NULL,
            PRIMARY KEY (job_id, number)) WITHOUT ROWID""",
        "CREATE INDEX trace_entries_by_age ON trace_entries (at)",
        "CREATE INDEX events_by_age ON events (at)",
        """CREATE TABLE spending (
            tenant TEXT NOT NULL, asker TEXT NOT NULL, month TEXT NOT NULL, model TEXT NOT NULL,
            prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, cost_usd REAL NOT NULL,
            PRIMARY KEY (tenant, month, asker, model)) WITHOUT ROWID""",
        # A worker that still runs a forgotten job must not store it again.
        "CREATE TABLE forgotten (job_id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID",
        """CREATE TRIGGER jobs_stay_forgotten BEFORE INSERT ON jobs
            WHEN EXISTS (SELECT 1 FROM forgotten WHERE job_id = NEW.id)
            BEGIN SELECT RAISE(ABORT, 'the job was forgotten'); END""",
    ),
    (
        # What people say to a running job, in the order they said it.
        """CREATE TABLE steering (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, steering TEXT NOT NULL,
            PRIMARY KEY (job_id, number)) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE link_revocations (
            job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, revoked_at REAL NOT NULL) WITHOUT ROWID""",
    ),
    (
        "ALTER TABLE jobs ADD COLUMN thread TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE jobs ADD COLUMN asker TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX jobs_by_thread ON jobs (tenant, visibility, thread, created_at) WHERE thread != ''",
        "CREATE INDEX jobs_by_asker ON jobs (tenant, asker, created_at) WHERE asker != ''",
        """CREATE TABLE addresses (
            job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, tenant TEXT NOT NULL,
            visibility TEXT NOT NULL, platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at REAL NOT NULL,
            expires_at REAL)""",
        "CREATE INDEX addresses_by_platform ON addresses (platform, put_at)",
        """CREATE TABLE attachments (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, attachment TEXT NOT NULL,
            PRIMARY KEY (job_id, number)) WITHOUT ROWID""",
        """CREATE TABLE ratings (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, asker TEXT NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, at REAL NOT NULL, rating TEXT NOT NULL,
            PRIMARY KEY (job_id, asker)) WITHOUT ROWID""",
    ),
    (
        "DROP TABLE answers",
        # A log: rows are added and removed, never changed, and no number is given twice. Keys are digests.
        """CREATE TABLE answers (
            number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, visibility TEXT NOT NULL, key BLOB NOT NULL,
            grouping BLOB NOT NULL, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
            created_at REAL NOT NULL, expires_at REAL NOT NULL, vector BLOB)""",
        "CREATE UNIQUE INDEX answers_by_key ON answers (tenant, visibility, key)",
        """CREATE INDEX answers_by_place ON answers (tenant, visibility, grouping, number) WHERE vector IS NOT NULL""",
        "CREATE INDEX answers_by_age ON answers (created_at)",
        "CREATE INDEX answers_by_expiry ON answers (expires_at)",
        "CREATE INDEX answers_by_job ON answers (job_id)",
        # Public pages and search results, for whoever needs them next; what was asked is in no column.
        """CREATE TABLE reused (key BLOB PRIMARY KEY, text TEXT NOT NULL, expires_at REAL NOT NULL) WITHOUT ROWID""",
        "CREATE INDEX reused_by_expiry ON reused (expires_at)",
    ),
    (
        # Papers on shelves: a shelf is a tenant and a visibility, and nobody else looks into it.
        """CREATE TABLE papers (
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, id TEXT NOT NULL, content_hash TEXT NOT NULL,
            paper TEXT NOT NULL, text TEXT NOT NULL, file BLOB NOT NULL,
            PRIMARY KEY (tenant, visibility, id)) WITHOUT ROWID""",
        # Rows are added and removed, never changed, and no number is given twice: mirrors rely on it.
        """CREATE TABLE paper_chunks (
            number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, visibility TEXT NOT NULL,
            paper_id TEXT NOT NULL, kind TEXT NOT NULL, chunk TEXT NOT NULL, vector BLOB,
            FOREIGN KEY (tenant, visibility, paper_id) REFERENCES papers (tenant, visibility, id) ON DELETE CASCADE)""",
        "CREATE INDEX paper_chunks_by_paper ON paper_chunks (tenant, visibility, kind, paper_id)",
        "CREATE INDEX paper_chunks_by_shelf ON paper_chunks (tenant, visibility, kind, number)",
        "CREATE VIRTUAL TABLE paper_words USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')",
        """CREATE TRIGGER paper_words_forget AFTER DELETE ON paper_chunks
            BEGIN DELETE FROM paper_words WHERE rowid = old.number; END""",
    ),
    (
        # Words know their shelf and their paper, so that a search reads no row of another; mirrors count vectors alone.
        "DROP TABLE paper_words",
        """CREATE VIRTUAL TABLE paper_words
            USING fts5 (place, text, tokenize = 'porter unicode61 remove_diacritics 2')""",
        """INSERT INTO paper_words (rowid, place, text)
            SELECT c.number,
                place_token(c.tenant, c.visibility, c.kind) || ' '
                    || place_token(c.tenant, c.visibility, c.kind, c.paper_id),
                json_extract(p.paper, '$.value.title') || char(10) || json_extract(c.chunk, '$.value.heading')
                    || char(10) || json_extract(c.chunk, '$.value.chunk_text')
            FROM paper_chunks c JOIN papers p
                ON (p.tenant, p.visibility, p.id) = (c.tenant, c.visibility, c.paper_id)""",
        "DROP INDEX paper_chunks_by_shelf",
        """CREATE INDEX paper_vectors_by_shelf ON paper_chunks (tenant, visibility, kind, number)
            WHERE vector IS NOT NULL""",
    ),
    (
        # Where a conversation with a library stands; `job_id` is the answer it shows, "" for none.
        """CREATE TABLE conversations (
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, thread TEXT NOT NULL, asker TEXT NOT NULL,
            job_id TEXT NOT NULL, put_at REAL NOT NULL, conversation TEXT NOT NULL,
            PRIMARY KEY (tenant, visibility, thread)) WITHOUT ROWID""",
        "CREATE INDEX conversations_by_age ON conversations (put_at)",
    ),
    (
        # What a workspace gave when it installed the app; a departure outlives what it removes, so it has no `tenant`.
        """CREATE TABLE installations (
            tenant TEXT PRIMARY KEY, sealed TEXT NOT NULL, put_at REAL NOT NULL) WITHOUT ROWID""",
        "CREATE TABLE one_time_states (key BLOB PRIMARY KEY, expires_at REAL NOT NULL) WITHOUT ROWID",
        """CREATE TABLE departures (
            account TEXT PRIMARY KEY, left_at REAL NOT NULL, is_erased INTEGER NOT NULL) WITHOUT ROWID""",
        "CREATE TABLE turns (name TEXT PRIMARY KEY, holder TEXT NOT NULL, ends_at REAL NOT NULL) WITHOUT ROWID",
    ),
    (
        # An index each: to rank a few summaries, FTS5 would count each word in all full texts as well.
        """CREATE VIRTUAL TABLE summary_words
            USING fts5 (place, text, tokenize = 'porter unicode61 remove_diacritics 2')""",
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
    (
        # What a tenant has set for itself, and every change of it.
        """CREATE TABLE tenant_settings (
            tenant TEXT PRIMARY KEY, version INTEGER NOT NULL, settings TEXT NOT NULL) WITHOUT ROWID""",
        """CREATE TABLE setting_changes (
            number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, key TEXT NOT NULL, before TEXT NOT NULL,
            after TEXT NOT NULL, who TEXT NOT NULL, at REAL NOT NULL)""",
        "CREATE INDEX setting_changes_by_tenant ON setting_changes (tenant, number)",
    ),
    (
        # The figures of a result, which usage is counted from; the index holds them, so that counting reads no answer.
        "ALTER TABLE jobs ADD COLUMN seconds REAL",
        "ALTER TABLE jobs ADD COLUMN confidence TEXT",
        "ALTER TABLE jobs ADD COLUMN cost_usd REAL",
        "ALTER TABLE jobs ADD COLUMN is_cached INTEGER",
        """UPDATE jobs SET seconds = json_extract(result, '$.value.duration_s'),
            confidence = json_extract(result, '$.value.answer.confidence'),
            cost_usd = json_extract(result, '$.value.answer.metadata.cost_usd'),
            is_cached = json_extract(result, '$.value.cached_at') IS NOT NULL
            WHERE result IS NOT NULL""",
        "CREATE INDEX jobs_by_day ON jobs (tenant, created_at, status, seconds, confidence, cost_usd, is_cached)",
    ),
    (
        # Messages that somebody waits for although no job stands behind them.
        """CREATE TABLE open_messages (
            key TEXT PRIMARY KEY, tenant TEXT NOT NULL, visibility TEXT NOT NULL, asker TEXT NOT NULL,
            platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at REAL NOT NULL, expires_at REAL)""",
    ),
    (
        # Whose departure would be missed while nobody listens, by the platform's own id of the app.
        """CREATE TABLE memberships (
            app TEXT NOT NULL, tenant TEXT NOT NULL, PRIMARY KEY (app, tenant)) WITHOUT ROWID""",
    ),
    (
        # Where chats show a job; and, once it is forgotten, what is yet to be taken away, which says no longer whose.
        """CREATE TABLE shown (
            key TEXT PRIMARY KEY, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, tenant TEXT NOT NULL,
            visibility TEXT NOT NULL, platform TEXT NOT NULL, sealed TEXT NOT NULL, expires_at REAL) WITHOUT ROWID""",
        "CREATE INDEX shown_by_job ON shown (job_id)",
        """CREATE TABLE condemned (
            key TEXT PRIMARY KEY, platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at REAL NOT NULL,
            expires_at REAL) WITHOUT ROWID""",
    ),
    (
        # Signed-in sessions that somebody ended, until they would have ended by themselves; a row to try writing with.
        "CREATE TABLE ended_sessions (id TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID",
        "CREATE TABLE tries (name TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID",
    ),
    (
        # Keys as digests and texts as bytes, as on PostgreSQL.
        "UPDATE jobs SET dedupe_key = digest(dedupe_key) WHERE dedupe_key IS NOT NULL",
        "UPDATE memos SET key = digest(key), text = CAST(text AS BLOB)",
    ),
)


def migrate(connection: Connection, folder: Path) -> None:
    """Bring the tables to the newest version; several processes may call this at once.

    The write lock is taken before the version is read, so the others wait and then find nothing to
    do. Raises `SetupError` when a newer gorkd has written the file, `sqlite3.Error` as it comes.
    """
    connection.conn.create_function("digest", 1, digest, deterministic=True)
    connection.conn.create_function("place_token", -1, place_token, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    with connection.conn:
        connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at REAL)")
        (version,) = connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()
        if version > len(MIGRATIONS):
            raise SetupError(
                f"The data folder {folder} was written by a newer gorkd (version {version}, this one knows "
                f"{len(MIGRATIONS)}). Start the newer gorkd or point GORKD_DATA to another folder."
            )
        for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_version VALUES (?, ?)", (number, time.time()))
