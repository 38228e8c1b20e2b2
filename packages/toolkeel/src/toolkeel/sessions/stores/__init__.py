"""Where sessions are kept: what a store does, and those in SQLite and PostgreSQL.

store        `SessionStore`: the methods of a store, and the records they take and return
sql_tables   the tables of a file of sessions, in SQL
sql_queries  queries of the tables: sessions, entries, inbox
sqlite       one SQLite file in one process: one thread writes for all
private_files  folders and files that only their owner reads, and that survive a power cut
artifacts    large values of a journal, each in a file named by its SHA-256
file_lock    one writer per session on one machine, by a lock of the kernel
database_store  a store in SQL, and that in a SQLite file
postgres     the same tables in PostgreSQL, for many machines
limited_connection  connections that end although the server is silent, and what they leave on it
postgres_connection  a connection to PostgreSQL with the interface of `sqlite3`
"""
