"""Searching documents: texts become passages, passages a store, the store is asked.

hidden_html     text of a page that nobody sees: taken out, and counted
document_text   bytes of any kind as text: HTML, Markdown, PDF, plain text and code
chunks          cutting a text into passages that can be found and read by themselves
filters         which files are searched: comparisons of their attributes, joined by and / or
embeddings      meaning as numbers: vectors of texts, from any server with a ``/v1/embeddings`` endpoint
stores          what a store of passages is, whichever engine keeps it
vector_store    a store in one SQLite file: words by FTS5, meaning by vectors if there are any
postgres_store  a store in PostgreSQL: words in a table, meaning by pgvector's index
qdrant_store    a store in Qdrant: words as sparse vectors, meaning as dense ones
open_store      the store that a name, a path or an address stands for
ranking         which passages of a store answer a question best
indexing        putting a folder into a store, and keeping it there: only what changed is read again
by_name         file search by names alone, as the command line has them
file_search     search in documents: in stores of this machine, or of the provider that hosts them
"""
