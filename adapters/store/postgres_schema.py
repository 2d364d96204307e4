"""The tables on PostgreSQL, as migrations that only ever grow at the end; schema.py is their like on SQLite.

What we encode is kept as `text`, which unlike `jsonb` takes the escape of NUL; text that is not
encoded is kept as bytes, and keys as digests. `tool_traces` has the columns that are given for it.
"""

from __future__ import annotations

from psycopg import AsyncConnection, sql

from core.errors import SetupError

LOCK = 0x676F726B64  # "gorkd"; whoever migrates holds this advisory lock

# One tuple of statements a version; an applied one is never edited.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE jobs (
            id TEXT PRIMARY KEY, number BIGINT GENERATED ALWAYS AS IDENTITY, tenant TEXT NOT NULL,
            visibility TEXT NOT NULL, status TEXT NOT NULL, attempt INTEGER NOT NULL, created_at TIMESTAMPTZ NOT NULL,
            dedupe_key BYTEA, job TEXT NOT NULL, result TEXT)""",
        "CREATE UNIQUE INDEX jobs_by_dedupe_key ON jobs (tenant, visibility, dedupe_key) WHERE dedupe_key IS NOT NULL",
        "CREATE INDEX jobs_by_age ON jobs (tenant, visibility, created_at)",
        """CREATE INDEX jobs_unfinished ON jobs (created_at, number)
            WHERE status NOT IN ('completed', 'failed', 'cancelled')""",
        """CREATE TABLE sources (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, attempt INTEGER NOT NULL, source TEXT NOT NULL,
            PRIMARY KEY (job_id, number))""",
        """CREATE TABLE events (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, seq INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, attempt INTEGER NOT NULL, type TEXT NOT NULL,
            at TIMESTAMPTZ NOT NULL, data TEXT NOT NULL,
            PRIMARY KEY (job_id, seq))""",
        """CREATE TABLE memos (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, key BYTEA NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, text BYTEA NOT NULL,
            PRIMARY KEY (job_id, key))""",
        """CREATE TABLE tool_traces (
            id VARCHAR(36) PRIMARY KEY, user_id TEXT NOT NULL, org_id TEXT, tool_name VARCHAR(100) NOT NULL,
            input_params JSON, status VARCHAR(50) DEFAULT 'pending', progress FLOAT DEFAULT 0.0,
            current_stage VARCHAR(100), state JSON DEFAULT '{}', result JSON, error_message TEXT,
            created_at TIMESTAMP DEFAULT (now() AT TIME ZONE 'utc'), started_at TIMESTAMP, completed_at TIMESTAMP,
            metrics JSON DEFAULT '{}', tenant TEXT NOT NULL, visibility TEXT NOT NULL)""",
        "CREATE INDEX ix_tool_traces_tool_name ON tool_traces (tool_name)",
        "CREATE INDEX idx_tool_traces_user_tool ON tool_traces (user_id, tool_name)",
        "CREATE INDEX idx_tool_traces_status ON tool_traces (status)",
        "CREATE TABLE heartbeats (worker_id TEXT PRIMARY KEY, beat_at TIMESTAMPTZ NOT NULL)",
    ),
    (
        """CREATE TABLE trace_entries (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, at TIMESTAMPTZ NOT NULL, entry TEXT NOT NULL,
            PRIMARY KEY (job_id, number))""",
        "CREATE INDEX trace_entries_by_age ON trace_entries (at)",
        "CREATE INDEX events_by_age ON events (at)",
        """CREATE TABLE spending (
            tenant TEXT NOT NULL, asker TEXT NOT NULL, month TEXT NOT NULL, model TEXT NOT NULL,
            prompt_tokens BIGINT NOT NULL, completion_tokens BIGINT NOT NULL, cost_usd DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (tenant, month, asker, model))""",
        # A worker that still runs a forgotten job must not store it again.
        "CREATE TABLE forgotten (job_id TEXT PRIMARY KEY, at TIMESTAMPTZ NOT NULL)",
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
    (
        # What people say to a running job, in the order they said it.
        """CREATE TABLE steering (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, steering TEXT NOT NULL,
            PRIMARY KEY (job_id, number))""",
    ),
    (
        """CREATE TABLE link_revocations (
            job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, revoked_at TIMESTAMPTZ NOT NULL)""",
    ),
    (
        "ALTER TABLE jobs ADD COLUMN thread TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE jobs ADD COLUMN asker TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX jobs_by_thread ON jobs (tenant, visibility, thread, created_at) WHERE thread != ''",
        "CREATE INDEX jobs_by_asker ON jobs (tenant, asker, created_at) WHERE asker != ''",
        """CREATE TABLE addresses (
            job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, tenant TEXT NOT NULL,
            visibility TEXT NOT NULL, platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at TIMESTAMPTZ NOT NULL,
            expires_at TIMESTAMPTZ)""",
        "CREATE INDEX addresses_by_platform ON addresses (platform, put_at)",
        """CREATE TABLE attachments (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, attachment TEXT NOT NULL,
            PRIMARY KEY (job_id, number))""",
        """CREATE TABLE ratings (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, asker TEXT NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, at TIMESTAMPTZ NOT NULL, rating TEXT NOT NULL,
            PRIMARY KEY (job_id, asker))""",
    ),
    (
        """CREATE TABLE papers (
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, id TEXT NOT NULL, content_hash TEXT NOT NULL,
            paper TEXT NOT NULL, text TEXT NOT NULL, file BYTEA NOT NULL, PRIMARY KEY (tenant, visibility, id))""",
        """CREATE TABLE paper_chunks (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant TEXT NOT NULL, visibility TEXT NOT NULL,
            paper_id TEXT NOT NULL, kind TEXT NOT NULL, chunk TEXT NOT NULL, vector BYTEA, words TSVECTOR NOT NULL,
            FOREIGN KEY (tenant, visibility, paper_id) REFERENCES papers (tenant, visibility, id) ON DELETE CASCADE)""",
        "CREATE INDEX paper_chunks_by_paper ON paper_chunks (tenant, visibility, kind, paper_id)",
        "CREATE INDEX paper_chunks_by_shelf ON paper_chunks (tenant, visibility, kind, number)",
        "CREATE INDEX paper_chunks_by_words ON paper_chunks USING gin (words)",
    ),
    (
        "DROP INDEX paper_chunks_by_shelf",
        """CREATE INDEX paper_vectors_by_shelf ON paper_chunks (tenant, visibility, kind, number)
            WHERE vector IS NOT NULL""",
    ),
    (
        """CREATE TABLE conversations (
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, thread TEXT NOT NULL, asker TEXT NOT NULL,
            job_id TEXT NOT NULL, put_at TIMESTAMPTZ NOT NULL, conversation TEXT NOT NULL,
            PRIMARY KEY (tenant, visibility, thread))""",
        "CREATE INDEX conversations_by_age ON conversations (put_at)",
    ),
    (
        # What a workspace gave when it installed the app; a departure outlives what it removes, so it has no `tenant`.
        "CREATE TABLE installations (tenant TEXT PRIMARY KEY, sealed TEXT NOT NULL, put_at TIMESTAMPTZ NOT NULL)",
        "CREATE TABLE one_time_states (key BYTEA PRIMARY KEY, expires_at TIMESTAMPTZ NOT NULL)",
        """CREATE TABLE departures (
            account TEXT PRIMARY KEY, left_at TIMESTAMPTZ NOT NULL, is_erased BOOLEAN NOT NULL)""",
        "CREATE TABLE turns (name TEXT PRIMARY KEY, holder TEXT NOT NULL, ends_at TIMESTAMPTZ NOT NULL)",
    ),
    (
        # An index each: a search of a few summaries would read the places of its words in all full texts as well.
        "DROP INDEX paper_chunks_by_words",
        "CREATE INDEX summary_words ON paper_chunks USING gin (words) WHERE kind = 'summary'",
        "CREATE INDEX content_words ON paper_chunks USING gin (words) WHERE kind = 'content'",
    ),
    (
        "CREATE TABLE tenant_settings (tenant TEXT PRIMARY KEY, version INTEGER NOT NULL, settings TEXT NOT NULL)",
        """CREATE TABLE setting_changes (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant TEXT NOT NULL, key TEXT NOT NULL,
            before TEXT NOT NULL, after TEXT NOT NULL, who TEXT NOT NULL, at TIMESTAMPTZ NOT NULL)""",
        "CREATE INDEX setting_changes_by_tenant ON setting_changes (tenant, number)",
    ),
    (
        # The figures of a result, which usage is counted from; the index holds them, so that counting reads no answer.
        """ALTER TABLE jobs ADD COLUMN seconds DOUBLE PRECISION, ADD COLUMN confidence TEXT,
            ADD COLUMN cost_usd DOUBLE PRECISION, ADD COLUMN is_cached INTEGER""",
        # JSON with an escaped NUL cannot be looked into; such an old answer counts as a question only.
        r"""UPDATE jobs SET seconds = (result::json #>> '{value,duration_s}')::double precision,
            confidence = result::json #>> '{value,answer,confidence}',
            cost_usd = (result::json #>> '{value,answer,metadata,cost_usd}')::double precision,
            is_cached = ((result::json #>> '{value,cached_at}') IS NOT NULL)::integer
            WHERE result IS NOT NULL AND position('\u0000' IN result) = 0""",
        "CREATE INDEX jobs_by_day ON jobs (tenant, created_at, status, seconds, confidence, cost_usd, is_cached)",
    ),
    (
        # Messages that somebody waits for although no job stands behind them.
        """CREATE TABLE open_messages (
            key TEXT PRIMARY KEY, tenant TEXT NOT NULL, visibility TEXT NOT NULL, asker TEXT NOT NULL,
            platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at TIMESTAMPTZ NOT NULL, expires_at TIMESTAMPTZ)""",
    ),
    (
        "DROP TABLE events",  # they lie in Redis (docs/adr/0010-postgres-and-redis-stores.md)
    ),
    (
        # Whose departure would be missed while nobody listens, by the platform's own id of the app.
        """CREATE TABLE memberships (
            app TEXT NOT NULL, tenant TEXT NOT NULL, PRIMARY KEY (app, tenant))""",
    ),
    (
        """CREATE TABLE shown (
            key TEXT PRIMARY KEY, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, tenant TEXT NOT NULL,
            visibility TEXT NOT NULL, platform TEXT NOT NULL, sealed TEXT NOT NULL, expires_at TIMESTAMPTZ)""",
        "CREATE INDEX shown_by_job ON shown (job_id)",
        """CREATE TABLE condemned (
            key TEXT PRIMARY KEY, platform TEXT NOT NULL, sealed TEXT NOT NULL, put_at TIMESTAMPTZ NOT NULL,
            expires_at TIMESTAMPTZ)""",
    ),
    (
        # Signed-in sessions that somebody ended, until they would have ended by themselves; a row to try writing with.
        "CREATE TABLE ended_sessions (id TEXT PRIMARY KEY, until TIMESTAMPTZ NOT NULL)",
        "CREATE TABLE tries (name TEXT PRIMARY KEY, at TIMESTAMPTZ NOT NULL)",
    ),
    (
        # What jobs tell and which answers may be repeated, beside the jobs again: Redis only rings.
        """CREATE TABLE events (
            job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, seq INTEGER NOT NULL,
            tenant TEXT NOT NULL, visibility TEXT NOT NULL, attempt INTEGER NOT NULL, type TEXT NOT NULL,
            at TIMESTAMPTZ NOT NULL, data TEXT NOT NULL, PRIMARY KEY (job_id, seq))""",
        "CREATE INDEX events_by_age ON events (at)",
        """CREATE TABLE answers (
            number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant TEXT NOT NULL, visibility TEXT NOT NULL,
            key BYTEA NOT NULL, grouping BYTEA NOT NULL, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
            created_at TIMESTAMPTZ NOT NULL, expires_at TIMESTAMPTZ NOT NULL, vector BYTEA)""",
        "CREATE UNIQUE INDEX answers_by_key ON answers (tenant, visibility, key)",
        "CREATE INDEX answers_by_place ON answers (tenant, visibility, grouping, number) WHERE vector IS NOT NULL",
        "CREATE INDEX answers_by_expiry ON answers (expires_at)",
        "CREATE INDEX answers_by_job ON answers (job_id)",
    ),
)


async def migrate(connection: AsyncConnection, *, timeout_s: float) -> None:
    """Bring the tables to the newest version in one transaction; several processes may call this at once.

    The others wait for the lock, at most `timeout_s`, and then find nothing to do. Raises `SetupError`
    when a newer gorkd has written the database, `psycopg.Error` as it comes.
    """
    async with connection.transaction():
        await connection.execute(sql.SQL("SET LOCAL statement_timeout = {}").format(round(timeout_s * 1000)))
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ)"
        )
        cursor = await connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version")
        (version,) = await cursor.fetchone() or (0,)
        if version > len(MIGRATIONS):
            raise SetupError(
                f"The database in DATABASE_URL was written by a newer gorkd (version {version}, this one knows "
                f"{len(MIGRATIONS)}). Start the newer gorkd or point DATABASE_URL to another database."
            )
        for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
            for statement in statements:
                await connection.execute(sql.SQL(statement))
            await connection.execute("INSERT INTO schema_version VALUES (%s, now())", (number,))
